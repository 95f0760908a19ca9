import type { NextPage } from "./Browser.ts"
import { Frame } from "./Frame.tsx"
import { paths } from "./Paths.ts"
import type { Theme } from "./Theme.ts"

const start: NextPage = { path: paths.home, name: "To the start page" }

/** `requestId`: the id by which the cause is found in the log; `next`: a link; `withSections`: whether to show the navigation. */
export const ErrorPage = ({
  message,
  next = start,
  requestId,
  theme,
  title,
  typed = [],
  withSections
}: {
  readonly title: string
  readonly message: string
  readonly requestId?: string | undefined
  readonly next?: NextPage | undefined
  readonly typed?: ReadonlyArray<readonly [name: string, value: string]> | undefined
  readonly withSections: boolean
  readonly theme: Theme
}) => (
  <Frame title={title} narrow withSections={withSections} theme={theme}>
    <div class="sheet">
      <p>{message}</p>
      {requestId !== undefined && (
        <p class="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      {typed.length > 0 && (
        <>
          <h2>What you typed</h2>
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
        <a href={next.path}>{next.name}</a>
      </p>
    </div>
  </Frame>
)
