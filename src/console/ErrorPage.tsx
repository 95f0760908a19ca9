import type { NextPage } from "./Browser.ts"
import { Frame } from "./Frame.tsx"
import type { Values } from "./languages/Words.tsx"
import { paths } from "./Paths.ts"
import type { Theme } from "./Theme.ts"
import { useWords } from "./Viewer.tsx"

const start: NextPage = { path: paths.home, name: "To the start page" }

/** `requestId`: the id by which the cause is found in the log; `next`: a link; `withSections`: whether to show the navigation. */
export const ErrorPage = ({
  message,
  next = start,
  requestId,
  theme,
  title,
  typed = [],
  values,
  withSections
}: {
  readonly title: string
  readonly message: string
  readonly values?: Values | undefined
  readonly requestId?: string | undefined
  readonly next?: NextPage | undefined
  readonly typed?: ReadonlyArray<readonly [name: string, value: string]> | undefined
  readonly withSections: boolean
  readonly theme: Theme
}) => {
  const t = useWords()
  return (
    <Frame title={t.say(title)} narrow withSections={withSections} theme={theme}>
      <div class="sheet">
        <p>{t.say(message, values)}</p>
        {requestId !== undefined && <p class="quiet">{t.rich("Request <code>{id}</code>", { id: requestId })}</p>}
        {typed.length > 0 && (
          <>
            <h2>{t("What you typed")}</h2>
            <div class="fields">
              {typed.map(([name, value]) => (
                <label key={name}>
                  {name}
                  <textarea readOnly dir="auto">
                    {value}
                  </textarea>
                </label>
              ))}
            </div>
          </>
        )}
        <p>
          <a href={next.path}>{t.say(next.name)}</a>
        </p>
      </div>
    </Frame>
  )
}
