import type { ComponentProps } from "preact"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { cellFields } from "../entities/CellForm.tsx"
import { fieldName } from "../entities/FieldNames.ts"
import { NewPassword } from "../Field.tsx"
import { fieldNames, secretInput } from "../Fields.ts"
import { Alert, Frame, Hidden, HiddenFields, Note, Refusal } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { pageOf, paths } from "../Paths.ts"
import { CodeField } from "../profile/SecondFactorPages.tsx"
import { Value } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"

/**
 * `returnTo`: the page after sign-in. `refusal`: why the last attempt failed. `isUnsent`: the session ended, so a form was not saved.
 * `kept`: that form, which is offered again after sign-in.
 */
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
            {...secretInput("password")}
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
export const signInPage = (props: ComponentProps<typeof SignInPage>) => <SignInPage {...props} />

/**
 * Data that the second step of a sign-in passes on: the token of the first step, the page that follows, and a form that
 * is offered afterwards.
 */
interface CodeStep {
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
        {t(
          "Lost your app and your codes? Ask an administrator of your account, or the operator of the service, to reset the second factor."
        )}
      </p>
    </Frame>
  )
}

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
              "This service sends no mail. Ask an administrator of your account to make a link for you on the page Team, or ask the operator of the service to run <code>catalog user invite</code>."
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

/** After sign-in: offers the form of a cell that the expired session could not save. */
export const KeptFormPage = ({ csrf, kept }: { readonly csrf: string; readonly kept: Parameters }) => {
  const t = useWords()
  return (
    <Frame title={t("Signed in")} narrow>
      <form method="post" action={paths.editEntity} class="sheet fields">
        <HiddenFields csrf={csrf} />
        <Hidden of={kept.names.map((name) => [name, kept.get(name) ?? ""])} />
        <p>{t("{field} was not saved yet. You typed:", { field: fieldName(t, kept.get(cellFields.key) ?? "") })}</p>
        <p>
          <Value text={kept.get(cellFields.value) ?? ""} />
        </p>
        <div class="buttons">
          <button type="submit">{t("Save draft")}</button>
          <a class="button plain" href={pageOf(paths.entity, kept.get("id") ?? "")}>
            {t("Discard")}
          </a>
        </div>
      </form>
    </Frame>
  )
}
