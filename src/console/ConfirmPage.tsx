import type { Visitor } from "./Browser.ts"
import { Frame, HiddenFields } from "./Frame.tsx"
import { useWords } from "./Viewer.tsx"

/** Asks for confirmation of an action that cannot be undone. `section`: the page to which Cancel returns. */
export const ConfirmPage = ({
  action,
  button,
  id,
  question,
  section,
  title,
  visitor
}: {
  readonly visitor: Visitor
  readonly section: string
  readonly title: string
  readonly question: string
  readonly action: string
  readonly button: string
  readonly id?: string
}) => {
  const t = useWords()
  return (
    <Frame title={t.say(title)} visitor={visitor} current={section}>
      <form method="post" action={action} class="sheet">
        <HiddenFields csrf={visitor.csrf} id={id} />
        <p>{t.say(question)}</p>
        <div class="buttons">
          <button type="submit" class="danger">
            {t.say(button)}
          </button>
          <a href={section}>{t("Cancel")}</a>
        </div>
      </form>
    </Frame>
  )
}
