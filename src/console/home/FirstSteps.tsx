import type { Role } from "../../model/Role.ts"
import { HiddenFields } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { Allowed, useWords } from "../Viewer.tsx"
import { Todo } from "./Todo.tsx"

type StepName = "link" | "import" | "publish" | "invite" | "connect"

/** Whether each step is done. Without the steps that the visitor's role does not include. */
export type StepsDone = Partial<Readonly<Record<StepName, boolean>>>

interface Step {
  /** The lowest role that can do the step. */
  readonly needs: Role
  readonly title: Sentence
  readonly how: Sentence
  readonly path: string
  readonly link: Sentence
}

const firstSteps: Readonly<Record<StepName, Step>> = {
  link: {
    needs: "view",
    title: "Link a store.",
    how: "An administrator links it on the page Stores.",
    path: paths.stores,
    link: "Stores"
  },
  import: {
    needs: "edit",
    title: "Bring in your products.",
    how: "Refresh the store, or import its product export.",
    path: paths.imports,
    link: "Imports"
  },
  publish: {
    needs: "publish",
    title: "Review and publish.",
    how: "Edit a product, see what would change on the store, and publish it.",
    path: paths.products,
    link: "Products"
  },
  invite: {
    needs: "admin",
    title: "Invite a colleague.",
    how: "Each user has a role.",
    path: paths.team,
    link: "Team"
  },
  connect: {
    needs: "admin",
    title: "Connect an agent, or make an API key.",
    how: "Agents and programs then work with your catalog.",
    path: paths.connections,
    link: "Agents"
  }
}

const names = Object.keys(firstSteps) as ReadonlyArray<StepName>

/** The first steps in a new account. Shown until all are done or the user hides them. */
export const FirstSteps = ({ csrf, done }: { readonly csrf: string; readonly done: StepsDone }) => {
  const t = useWords()
  return (
    <section aria-labelledby="first">
      <div class="above">
        <h2 id="first">{t("First steps")}</h2>
        <form method="post" action={paths.hideFirstSteps}>
          <HiddenFields csrf={csrf} />
          <button type="submit" class="plain">
            {t("Hide the first steps")}
          </button>
        </form>
      </div>
      <ul class="sheet todo">
        {names
          .filter((name) => done[name] !== undefined)
          .map((name) => {
            const { how, link, needs, path, title } = firstSteps[name]
            const isDone = done[name] === true
            return (
              <Todo
                key={name}
                tone={isDone ? "good" : "wait"}
                action={
                  !isDone && (
                    <Allowed to={needs}>
                      <a href={path}>{t(link)}</a>
                    </Allowed>
                  )
                }
              >
                <p>
                  <strong>{t(title)}</strong> {t(isDone ? "Done." : how)}
                </p>
              </Todo>
            )
          })}
      </ul>
    </section>
  )
}
