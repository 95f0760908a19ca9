import { fieldNames } from "../Fields.ts"
import { Alert, Frame } from "../Frame.tsx"
import { paths } from "../Paths.ts"

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
  readonly refusal?: string
  readonly isUnsent?: boolean
  readonly kept?: string | undefined
}) => (
  <Frame title="Sign in" narrow>
    {isUnsent && (
      <Alert>
        <p>Your session has expired, so the form was not saved. Sign in and send it again.</p>
      </Alert>
    )}
    {kept !== undefined && (
      <Alert>
        <p>Your session has expired, so this was not saved yet. What you typed is kept: sign in to save it.</p>
      </Alert>
    )}
    {refusal !== undefined && (
      <Alert>
        <p id="refusal">{refusal}</p>
      </Alert>
    )}
    <form method="post" action={paths.signIn} class="sheet fields">
      {returnTo !== undefined && <input type="hidden" name={fieldNames.returnTo} value={returnTo} />}
      {kept !== undefined && <input type="hidden" name={fieldNames.kept} value={kept} />}
      <label>
        E-mail
        <input
          type="email"
          name="email"
          value={email}
          autocomplete="username"
          required
          maxLength={254}
          {...(refusal !== undefined && { "aria-describedby": "refusal" })}
        />
      </label>
      <label>
        Password
        <input type="password" name="password" autocomplete="current-password" required maxLength={200} />
      </label>
      <div class="buttons">
        <button type="submit">Sign in</button>
      </div>
    </form>
    <p class="quiet">
      <a href={paths.forgotPassword}>Forgotten your password?</a> No password yet? Ask an administrator of your account
      for an invitation.
    </p>
  </Frame>
)
