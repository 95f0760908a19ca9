import { fieldNames } from "../Fields.ts"
import { Alert, Frame } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

/** `returnTo`: the page after sign-in; `refusal`: why the last attempt failed; `isUnsent`: the session ended and a form was not saved; `kept`: that form, which is offered again after sign-in. */
export const SignInPage = ({
  email = "",
  isUnsent = false,
  kept,
  refusal,
  returnTo
}: {
  readonly email?: string | undefined
  readonly returnTo: string | undefined
  readonly refusal?: Saying
  readonly isUnsent?: boolean
  readonly kept?: string | undefined
}) => {
  const t = useWords()
  const isAddressMissing = email === ""
  return (
    <Frame title={t("Sign in")} narrow>
      {isUnsent && (
        <Alert>
          <p>{t("Your session has expired, so the form was not saved. Sign in and send it again.")}</p>
        </Alert>
      )}
      {kept !== undefined && (
        <Alert>
          <p>{t("Your session has expired, so this was not saved yet. What you typed is kept: sign in to save it.")}</p>
        </Alert>
      )}
      {refusal !== undefined && (
        <Alert>
          <p id="refusal">{t.say(refusal)}</p>
        </Alert>
      )}
      <form method="post" action={paths.signIn} class="sheet fields">
        {returnTo !== undefined && <input type="hidden" name={fieldNames.returnTo} value={returnTo} />}
        {kept !== undefined && <input type="hidden" name={fieldNames.kept} value={kept} />}
        <label>
          {t("E-mail")}
          <input
            type="email"
            name="email"
            value={email}
            autocomplete="username"
            required
            maxLength={254}
            autofocus={isAddressMissing}
            {...(refusal !== undefined && { "aria-describedby": "refusal" })}
          />
        </label>
        <label>
          {t("Password")}
          <input
            type="password"
            name="password"
            autocomplete="current-password"
            required
            maxLength={200}
            autofocus={!isAddressMissing}
          />
        </label>
        <div class="buttons">
          <button type="submit">{t("Sign in")}</button>
        </div>
      </form>
      <p class="quiet">
        {t.rich(
          "<link>Forgotten your password?</link> No password yet? Ask an administrator of your account for an invitation.",
          { link: (words) => <a href={paths.forgotPassword}>{words}</a> }
        )}
      </p>
    </Frame>
  )
}

/** The sign-in page, for modules without JSX. */
export const signInPage = (props: Parameters<typeof SignInPage>[0]) => <SignInPage {...props} />
