import { encode } from "uqr"
import type { Enrolment } from "../../access/SecondFactors.ts"
import type { Visitor } from "../Browser.ts"
import { CopyText, FieldMisfit, fieldState, type Misfit } from "../Field.tsx"
import { fieldNames } from "../Fields.ts"
import { Frame, HiddenFields, Refusal } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

/** A QR code as a picture in the page: one square for each dark cell. */
const QrCode = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const { data, size } = encode(text, { ecc: "M", border: 3 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("")
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

/** The field for a code of an authenticator app. `rule`: the id of the text that describes it. */
export const CodeField = ({
  isFirst = false,
  misfit,
  rule
}: {
  /** Whether the field has the focus when the page opens. */
  readonly isFirst?: boolean
  readonly misfit: Misfit | undefined
  readonly rule: string
}) => {
  const t = useWords()
  return (
    <>
      <label>
        {t("Code")}
        <input
          type="text"
          name="code"
          inputmode="text"
          autocomplete="one-time-code"
          autocapitalize="none"
          spellcheck={false}
          required
          maxLength={20}
          autofocus={isFirst}
          {...fieldState(misfit, "code", rule)}
        />
      </label>
      <FieldMisfit field="code" misfit={misfit} />
    </>
  )
}

/** The page that was asked for before the second factor had to be set up. */
const ReturnTo = ({ path }: { readonly path: string | undefined }) =>
  path === undefined ? null : <input type="hidden" name={fieldNames.returnTo} value={path} />

/** The first page of a user without the second factor that the account requires. `refusal`: why it cannot be set up. */
export const RequiredFactorPage = ({
  refusal,
  returnTo,
  visitor
}: {
  readonly visitor: Visitor
  readonly refusal: Saying | undefined
  readonly returnTo: string | undefined
}) => {
  const t = useWords()
  return (
    <Frame title={t("Set up a second factor first")} visitor={visitor} narrow>
      <Refusal text={refusal} />
      <form method="post" action={paths.secondFactor} class="sheet">
        <HiddenFields csrf={visitor.csrf} />
        <ReturnTo path={returnTo} />
        <p>
          {t(
            "Your account requires a second factor of all its users: sign-in also asks for a code of an authenticator app on your phone. Set it up now to go on."
          )}
        </p>
        <div class="buttons">
          <button type="submit">{t("Set up an authenticator app")}</button>
        </div>
      </form>
    </Frame>
  )
}

/** The secret of a new authenticator app, and the form that confirms it by a code. */
export const EnrolPage = ({
  enrolment,
  misfit,
  returnTo,
  visitor
}: {
  readonly visitor: Visitor
  readonly enrolment: Enrolment
  readonly returnTo: string | undefined
  readonly misfit?: Misfit | undefined
}) => {
  const t = useWords()
  return (
    <Frame
      title={t("Set up an authenticator app")}
      visitor={visitor}
      {...(visitor.lacksFactor ? {} : { current: paths.profile })}
    >
      <div class="sheet">
        <p>{t("Scan this picture with your app, or copy the text into it.")}</p>
        <QrCode
          text={enrolment.uri}
          label={t("QR code for your authenticator app. The text below has the same content.")}
        />
        <CopyText id="secret" label={t("Secret")} text={enrolment.secret} />
        <CopyText id="uri" label={t("Address (otpauth)")} text={enrolment.uri} />
      </div>
      <form method="post" action={paths.confirmSecondFactor} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <ReturnTo path={returnTo} />
        <CodeField misfit={misfit} rule="code-rule" />
        <p id="code-rule" class="quiet">
          {t(
            "Six digits that your app shows now. The second factor is on after this code, and your other sessions end."
          )}
        </p>
        <div class="buttons">
          <button type="submit">{t("Confirm")}</button>
          {!visitor.lacksFactor && <a href={paths.profile}>{t("Cancel")}</a>}
        </div>
      </form>
    </Frame>
  )
}

/** The recovery codes, which are shown only once. `isRenewed`: they replace others. `returnTo`: the page that was asked for before. */
export const RecoveryCodesPage = ({
  codes,
  isRenewed = false,
  returnTo,
  visitor
}: {
  readonly visitor: Visitor
  readonly codes: ReadonlyArray<string>
  readonly isRenewed?: boolean
  readonly returnTo?: string | undefined
}) => {
  const t = useWords()
  return (
    <Frame
      title={isRenewed ? t("New recovery codes") : t("The second factor is on")}
      visitor={visitor}
      current={paths.profile}
    >
      <section class="sheet" aria-labelledby="codes">
        <h2 id="codes">{t("Recovery codes")}</h2>
        <p>{isRenewed ? t("The old recovery codes are no longer accepted.") : t("Your other sessions are ended.")}</p>
        <p>
          {t(
            "Keep these codes in a safe place. They are shown only once. If you lose your app, each of them replaces one code at sign-in. When you have none left, an administrator can reset your second factor."
          )}
        </p>
        <ul class="codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <p>
          {returnTo === undefined ? (
            <a href={paths.profile}>{t("To the profile")}</a>
          ) : (
            <a href={returnTo} class="button">
              {t("Continue")}
            </a>
          )}
        </p>
      </section>
    </Frame>
  )
}
