import { Frame, Note, Refusal } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

const BackToSignIn = () => {
  const t = useWords()
  return (
    <p>
      <a href={paths.signIn}>{t("To the sign-in")}</a>
    </p>
  )
}

/** `canMail`: whether a mail server is set; `isSent`: the form was sent; `refusal`: why the request was refused. */
export const ForgotPasswordPage = ({
  canMail,
  email = "",
  isSent = false,
  refusal
}: {
  readonly canMail: boolean
  readonly isSent?: boolean
  readonly email?: string
  readonly refusal?: Saying | undefined
}) => {
  const t = useWords()
  return (
    <Frame title={t("Forgotten password")} narrow>
      <Refusal text={refusal} />
      {!canMail ? (
        <div class="sheet">
          <p>
            {t.rich(
              "This service sends no mail. An administrator of your account can make a link for you on the page Team, or the operator of the service by the command <code>catalog user invite</code>."
            )}
          </p>
          <BackToSignIn />
        </div>
      ) : isSent ? (
        <>
          <Note>
            <p>
              {t(
                "If a user with this e-mail address has a password, a link to set a new one is on its way. It is valid once, for one day."
              )}
            </p>
          </Note>
          <div class="sheet">
            <p>
              {t(
                "No mail after a few minutes? Look in your spam folder, or ask an administrator of your account for a link."
              )}
            </p>
            <BackToSignIn />
          </div>
        </>
      ) : (
        <form method="post" action={paths.forgotPassword} class="sheet fields">
          <label>
            {t("E-mail")}
            <input type="email" name="email" value={email} autocomplete="username" required maxLength={254} autofocus />
          </label>
          <div class="buttons">
            <button type="submit">{t("Send a link")}</button>
            <a href={paths.signIn}>{t("Cancel")}</a>
          </div>
        </form>
      )}
    </Frame>
  )
}
