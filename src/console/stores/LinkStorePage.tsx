import { filesOnly } from "../../model/Store.ts"
import type { Permission, PlatformDescription } from "../../platform/PlatformAdapter.ts"
import type { Visitor } from "../Browser.ts"
import { FieldMisfit, fieldState, type Misfit, problemOfForm } from "../Field.tsx"
import { credentialPrefix, secretInput } from "../Fields.ts"
import { Frame, HiddenFields, Refusal } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

/** The values of the form, without secrets: these are typed again when the form was refused. */
export type TypedStore = Readonly<Record<"domain" | "name" | "locale" | "currency", string>>

/** The name of the form field of a credential. */
export const credentialField = (name: string) => `${credentialPrefix}${name}` as const

/** Labels of credentials whose platforms are part of the service. Those of other platforms are shown as they are. */
const credentialLabels: Readonly<Record<string, Sentence>> = {
  "an Admin API access token of the store": "Admin API access token of the store"
}

/** The address of the form for a platform, and for a store that is linked already. */
export const linkStoreOf = (platform: string, domain?: string): string =>
  `${paths.linkStore}?${new URLSearchParams({ platform, ...(domain !== undefined && { domain }) })}`

/** The question before a store is unlinked. */
export const unlinkStoreOf = (storeId: string): string => `${paths.unlinkStore}?${new URLSearchParams({ id: storeId })}`

/** Says what does not work without a permission. */
export const WithoutPermission = ({ permission: { name, without } }: { readonly permission: Permission }) =>
  useWords().rich("Without {permission}: {problem}.", { permission: <code>{name}</code>, problem: without })

/** The values that only a platform with tokens asks for. */
const Credentials = ({
  misfit,
  platform: { fields }
}: {
  readonly platform: PlatformDescription
  readonly misfit: Misfit | undefined
}) => {
  const t = useWords()
  return (
    <>
      {fields.map(({ isSecret, label, name, permissions = [] }) => {
        const field = credentialField(name)
        const sentence = credentialLabels[label]
        const state = {
          id: field,
          name: field,
          required: true,
          autocomplete: "off",
          spellcheck: false,
          ...fieldState(misfit, field, `${field}-rule`)
        } as const
        return (
          <div key={name}>
            <label for={field}>{sentence === undefined ? label : t(sentence)}</label>
            {isSecret ? <input {...state} {...secretInput(field)} /> : <input type="text" {...state} />}
            <FieldMisfit field={field} misfit={misfit} />
            <p class="quiet" id={`${field}-rule`}>
              {t("It is tested first, and stored encrypted.")}
              {permissions.length > 0 && (
                <>
                  {" "}
                  {t("It needs these permissions:")}{" "}
                  {permissions
                    .filter(({ isOptional = false }) => !isOptional)
                    .map((permission, index) => (
                      <>
                        {index > 0 && t(", ")}
                        <code key={permission.name}>{permission.name}</code>
                      </>
                    ))}
                </>
              )}
            </p>
            {permissions
              .filter(({ isOptional = false }) => isOptional)
              .map((permission) => (
                <p class="quiet" key={permission.name}>
                  <WithoutPermission permission={permission} />
                </p>
              ))}
          </div>
        )
      })}
    </>
  )
}

/** The values that a person gives because nothing can be read from the store. */
const Given = ({ misfit, typed }: { readonly typed: TypedStore; readonly misfit: Misfit | undefined }) => {
  const t = useWords()
  const text = (name: "name" | "locale" | "currency", label: Sentence, hint: Sentence) => (
    <div>
      <label>
        {t(label)}
        <input type="text" name={name} value={typed[name]} {...fieldState(misfit, name, `${name}-rule`)} />
      </label>
      <FieldMisfit field={name} misfit={misfit} />
      <p class="quiet" id={`${name}-rule`}>
        {t(hint)}
      </p>
    </div>
  )
  return (
    <>
      {text("name", "Name", "Without a name, the store is called by its address.")}
      {text("locale", "Main language", "Such as en, pt-BR or zh-Hans. Without one: en.")}
      {text("currency", "Currency", "A code such as EUR. Without one: USD.")}
    </>
  )
}

/** The form that links a store. `platform` undefined: its data comes from files. */
export const LinkStorePage = ({
  misfit,
  platform,
  platforms,
  typed,
  visitor
}: {
  readonly visitor: Visitor
  readonly platforms: ReadonlyArray<PlatformDescription>
  readonly platform: PlatformDescription | undefined
  readonly typed: TypedStore
  readonly misfit?: Misfit | undefined
}) => {
  const t = useWords()
  const chosen = platform?.name ?? filesOnly
  return (
    <Frame title={t("Link a store")} visitor={visitor} current={paths.stores}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.stores}>{t("Stores")}</a>
      </nav>
      <nav class="tabs" aria-label={t("Platform")}>
        {[...platforms.map(({ label, name }) => [name, label] as const), [filesOnly, t("From files")] as const].map(
          ([name, label]) => (
            <a key={name} href={linkStoreOf(name)} aria-current={name === chosen ? "page" : undefined}>
              {label}
            </a>
          )
        )}
      </nav>
      <Refusal text={problemOfForm(misfit)} />
      <form method="post" action={paths.linkStore} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <input type="hidden" name="platform" value={chosen} />
        <div>
          <label>
            {t("Address of the store")}
            <input
              type="text"
              inputMode="url"
              name="domain"
              value={typed.domain}
              required
              maxLength={253}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              dir="ltr"
              {...fieldState(misfit, "domain", "domain-rule")}
            />
          </label>
          <FieldMisfit field="domain" misfit={misfit} />
          <p class="quiet" id="domain-rule">
            {t("A host name, such as shop.example.com.")}
          </p>
        </div>
        {platform !== undefined && <Credentials platform={platform} misfit={misfit} />}
        {platform?.isVerified === true ? (
          <p class="quiet">{t("Name, languages and currency are read from the store.")}</p>
        ) : (
          <Given typed={typed} misfit={misfit} />
        )}
        <div class="buttons">
          <button type="submit">{t("Link the store")}</button>
          <a href={paths.stores}>{t("Cancel")}</a>
        </div>
      </form>
    </Frame>
  )
}
