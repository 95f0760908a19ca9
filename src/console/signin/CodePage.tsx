import { fieldNames } from "../Fields.ts"
import { Frame } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { CodeField } from "../profile/SecondFactorPages.tsx"
import { useWords } from "../Viewer.tsx"

/**
 * Data that the second step of a sign-in passes on: the token of the first step, the page that follows, and a form that
 * is offered afterwards.
 */
export interface CodeStep {
  readonly token: string
  readonly returnTo: string | undefined
  readonly kept: string | undefined
}

/** The second step of a sign-in. `refusal`: why the last code was refused. */
export const CodePage = ({ kept, refusal, returnTo, token }: CodeStep & { readonly refusal?: Saying | undefined }) => {
  const t = useWords()
  return (
    <Frame title={t("Enter your code")} narrow>
      <form method="post" action={paths.signInCode} class="sheet fields">
        <input type="hidden" name="token" value={token} />
        {returnTo !== undefined && <input type="hidden" name={fieldNames.returnTo} value={returnTo} />}
        {kept !== undefined && <input type="hidden" name={fieldNames.kept} value={kept} />}
        <CodeField
          isFirst
          misfit={refusal === undefined ? undefined : { field: "code", message: refusal }}
          rule="code-rule"
        />
        <p id="code-rule" class="quiet">
          {t("Six digits of your authenticator app, or one of your recovery codes.")}
        </p>
        <div class="buttons">
          <button type="submit">{t("Sign in")}</button>
          <a href={paths.signIn}>{t("Cancel")}</a>
        </div>
      </form>
      <p class="quiet">
        {t("Lost your app and your codes? Ask an administrator of your account to reset the second factor.")}
      </p>
    </Frame>
  )
}
