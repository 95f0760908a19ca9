import { NewPassword } from "../Field.tsx"
import { Alert, Frame } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

/** `token`: the token of the one-time link; `refusal`: why the last password was refused. */
export const SetPasswordPage = ({
  email,
  refusal,
  token
}: {
  readonly email: string
  readonly token: string
  readonly refusal?: Saying
}) => {
  const t = useWords()
  return (
    <Frame title={t("Set your password")} narrow>
      {refusal !== undefined && (
        <Alert>
          <p id="refusal">{t.say(refusal)}</p>
        </Alert>
      )}
      <form method="post" action={paths.setPassword} class="sheet fields">
        <input type="hidden" name="token" value={token} />
        <label>
          {t("E-mail")}
          <input type="email" name="email" value={email} autocomplete="username" readOnly />
        </label>
        <NewPassword
          state={{
            autofocus: true,
            "aria-describedby": refusal === undefined ? "rule" : "refusal rule",
            ...(refusal !== undefined && { "aria-invalid": "true" as const })
          }}
        />
        <p id="rule" class="quiet">
          {t("10 to 200 characters. A few unrelated words make a good one.")}
        </p>
        <div class="buttons">
          <button type="submit">{t("Set password and sign in")}</button>
        </div>
      </form>
    </Frame>
  )
}
