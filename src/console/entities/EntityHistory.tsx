import type { HistoryEntry, ValueChange } from "../../drafts/History.ts"
import { Time } from "../Frame.tsx"
import { actorName, Domain } from "../Naming.tsx"
import { dropPath, pageOf, paths } from "../Paths.ts"

const actions: Readonly<Record<Exclude<HistoryEntry["action"], "attributes" | "publish_failed">, string>> = {
  created: "Created",
  added_to_store: "Added to the store",
  removed_from_store: "Taken from the store",
  gallery: "Media changed",
  members: "Members changed",
  variants: "Variants changed",
  publish_asked: "Publish asked for",
  published: "Published"
}

/** Characters of a value in a list of changes. */
const mostCharacters = 200

const short = (text: string) => {
  const characters = [...text]
  return characters.length > mostCharacters ? `${characters.slice(0, mostCharacters).join("")}…` : text
}

/** `none`: what it means that there is no value. */
const Shown = ({ none, value }: { readonly value: string | null; readonly none: string }) =>
  value === null || value === "" ? (
    <span class="quiet">{value === null ? none : "empty"}</span>
  ) : (
    <bdi class="value">{short(value)}</bdi>
  )

const Change = ({ change, none }: { readonly change: ValueChange; readonly none: string }) => (
  <li>
    <code>{change.key}</code>: <Shown value={change.old} none={none} /> <span aria-hidden="true">→</span>
    <span class="spoken"> became </span> <Shown value={change.new} none={none} />
  </li>
)

const What = ({ entry }: { readonly entry: HistoryEntry }) => {
  if (entry.action === "attributes")
    return (
      <ul>
        {entry.changes.map((change) => (
          <Change key={change.key} change={change} none={entry.store_id === null ? "empty" : "as in the catalog"} />
        ))}
      </ul>
    )
  if (entry.action === "publish_failed")
    return (
      <>
        Publish failed: {entry.error?.message}{" "}
        <span class="quiet">
          (<code>{entry.error?.code}</code>)
        </span>
      </>
    )
  return <>{actions[entry.action]}</>
}

/** `history`: newest first; `more`: where more of it is shown. */
export const EntityHistory = ({
  history,
  more
}: {
  readonly history: ReadonlyArray<HistoryEntry>
  readonly more: string | undefined
}) => (
  <section aria-labelledby="history">
    <h2 id="history">History</h2>
    {history.length === 0 ? (
      <p class="quiet">No changes are on record: it was written before the history began.</p>
    ) : (
      <table class="sheet" aria-labelledby="history">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">Where</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {history.map((entry) => (
            <tr key={`${entry.at} ${entry.draft_revision} ${entry.action} ${entry.store_id}`}>
              <th scope="row">
                <Time at={entry.at} />
                <div class="quiet">Revision {entry.draft_revision}</div>
              </th>
              <td data-label="Who">
                {entry.drop === null ? (
                  actorName(entry.actor)
                ) : (
                  <>
                    Drop{" "}
                    <a href={dropPath(entry.drop.id)}>
                      <bdi>{entry.drop.name}</bdi>
                    </a>
                    <div class="quiet">scheduled by {actorName(entry.actor)}</div>
                  </>
                )}
                {entry.import_id !== null && (
                  <div>
                    by <a href={pageOf(paths.import, entry.import_id)}>an import</a>
                  </div>
                )}
              </td>
              <td data-label="Where">
                <Domain name={entry.store_domain ?? "Catalog"} />
              </td>
              <td data-label="What">
                <What entry={entry} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
    {more !== undefined && (
      <p>
        <a href={more}>Show more of the history</a>
      </p>
    )}
  </section>
)
