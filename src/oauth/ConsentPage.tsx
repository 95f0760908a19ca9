import type { CheckedRequest, Consent } from "../connections/Consents.ts"
import { destinationOf } from "../connections/RedirectUri.ts"
import { covers, tierWords, upTo } from "../connections/Tier.ts"
import type { Visitor } from "../console/Browser.ts"
import { Facts } from "../console/Field.tsx"
import { Frame } from "../console/Frame.tsx"
import { useWords } from "../console/Viewer.tsx"
import { roleWords } from "../model/Role.ts"
import { oauthPaths } from "./Paths.ts"

/** Names of the fields of the consent form. */
export const consentFields = {
  consent: "consent",
  formToken: "form_token",
  tier: "tier",
  confirmPublish: "confirm_publish",
  decision: "decision"
} as const

/** Prefix of a store's field. Each store has its own field, because a field that is sent twice is refused. */
const storeField = "store_"

/** The ids of the selected stores, from the names of the form's fields. */
export const chosenStores = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => (name.startsWith(storeField) ? [name.slice(storeField.length)] : []))

const Limits = ({ highest, stores }: Consent) => {
  const t = useWords()
  return (
    <>
      {stores.length > 0 && (
        <fieldset>
          <legend>{t("Stores")}</legend>
          <p class="quiet">
            {t(
              "Tick the stores that it may see and change. Without a tick it can use all of them, also stores that you link later."
            )}
          </p>
          {stores.map(({ domain, id, name }) => (
            <label class="choice" key={id}>
              <input type="checkbox" name={`${storeField}${id}`} value="on" />
              <strong>
                <bdi>{name}</bdi>
              </strong>{" "}
              <span class="quiet">
                <bdi>{domain}</bdi>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {highest === "pim:publish" && (
        <label class="choice">
          <input type="checkbox" name={consentFields.confirmPublish} value="on" />
          <strong>{t("Ask me before each publish")}</strong>{" "}
          <span class="quiet">
            {t("Programs that cannot ask you cannot publish. You can publish on the pages here.")}
          </span>
        </label>
      )}
    </>
  )
}

const Address = ({ url }: { readonly url: string }) => (
  <>
    <strong>{destinationOf(url)}</strong>
    <br />
    <code>{url}</code>
  </>
)

/** `target`: the URL of this request, to continue there after another user signs in. */
export const ConsentPage = ({
  consent,
  request,
  target,
  visitor
}: {
  readonly visitor: Visitor
  readonly request: CheckedRequest
  readonly consent: Consent
  readonly target: string
}) => {
  const t = useWords()
  const { client, redirectUri } = request
  const isLimitedByRole = !covers(consent.highest, request.requestedTier ?? "pim:publish")
  return (
    <Frame title={t("Connect {agent}?", { agent: client.name })} visitor={visitor} returnTo={target} narrow>
      <div class="sheet">
        <p>
          {t.rich(
            "A program that calls itself <strong>{agent}</strong> wants to use the catalog of <strong>{account}</strong>. This name is not verified.",
            { agent: <bdi>{client.name}</bdi>, account: <bdi>{visitor.accountName}</bdi> }
          )}
        </p>
        <Facts
          of={[
            [t("Redirects to"), <Address url={redirectUri} />],
            client.metadataUrl !== null && [t("Described at"), <Address url={client.metadataUrl} />],
            [t("Account"), <bdi>{visitor.accountName}</bdi>],
            [t("Signed in as"), <bdi>{visitor.email}</bdi>],
            [
              t("Requested permission"),
              request.requestedTier === undefined
                ? t("None: choose one below.")
                : t.say(tierWords[request.requestedTier].name)
            ]
          ]}
        />
      </div>
      <form method="post" action={oauthPaths.decision} class="fields">
        <input type="hidden" name={consentFields.consent} value={consent.id} />
        <input type="hidden" name={consentFields.formToken} value={consent.formToken} />
        <fieldset>
          <legend>{t("Permissions")}</legend>
          {upTo(consent.highest).map((tier) => (
            <label class="choice" key={tier}>
              <input
                type="radio"
                name={consentFields.tier}
                value={tier}
                checked={tier === (request.requestedTier === undefined ? "pim:read" : consent.highest)}
              />
              <strong>{t.say(tierWords[tier].name)}</strong> <span class="quiet">{t.say(tierWords[tier].meaning)}</span>
            </label>
          ))}
          {isLimitedByRole && (
            <p class="quiet">
              {t(
                "Your role is {role}, so you cannot allow more. If your role is lowered later, this connection is limited with it.",
                { role: t.say(roleWords[visitor.role].name) }
              )}
            </p>
          )}
        </fieldset>
        <Limits {...consent} />
        <div class="buttons">
          <button type="submit" name={consentFields.decision} value="allow">
            {t("Allow")}
          </button>
          <button type="submit" name={consentFields.decision} value="deny" class="plain">
            {t("Deny")}
          </button>
        </div>
      </form>
      <p class="quiet">{t("You can end the connection at any time under Agents.")}</p>
    </Frame>
  )
}
