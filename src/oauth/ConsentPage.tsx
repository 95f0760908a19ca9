import type { CheckedRequest, Consent } from "../connections/Consents.ts"
import { destinationOf } from "../connections/RedirectUri.ts"
import { covers, tierWords, upTo } from "../connections/Tier.ts"
import type { Visitor } from "../console/Browser.ts"
import { Frame } from "../console/Frame.tsx"
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

const Limits = ({ highest, stores }: Consent) => (
  <>
    {stores.length > 0 && (
      <fieldset>
        <legend>Stores</legend>
        <p class="quiet">
          Tick the stores that it may see and change. Without a tick it can use all of them, also stores that you link
          later.
        </p>
        {stores.map(({ domain, id, name }) => (
          <label class="choice" key={id}>
            <input type="checkbox" name={`${storeField}${id}`} value="on" />
            <strong>{name}</strong> <span class="quiet">{domain}</span>
          </label>
        ))}
      </fieldset>
    )}
    {highest === "pim:publish" && (
      <label class="choice">
        <input type="checkbox" name={consentFields.confirmPublish} value="on" />
        <strong>Ask me before each publish</strong>{" "}
        <span class="quiet">Programs that cannot ask you cannot publish. You can publish on the pages here.</span>
      </label>
    )}
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
  const { client, redirectUri } = request
  const isLimitedByRole = !covers(consent.highest, request.asked ?? "pim:publish")
  return (
    <Frame title={`Connect ${client.name}?`} visitor={visitor} returnTo={target} narrow>
      <div class="sheet">
        <p>
          A program that calls itself{" "}
          <strong>
            <bdi>{client.name}</bdi>
          </strong>{" "}
          wants to use the catalog of{" "}
          <strong>
            <bdi>{visitor.accountName}</bdi>
          </strong>
          . This name is not verified.
        </p>
        <dl>
          <dt>Redirects to</dt>
          <dd>
            <strong>{destinationOf(redirectUri)}</strong>
            <br />
            <code>{redirectUri}</code>
          </dd>
          {client.metadataUrl !== null && (
            <>
              <dt>Described at</dt>
              <dd>
                <strong>{destinationOf(client.metadataUrl)}</strong>
                <br />
                <code>{client.metadataUrl}</code>
              </dd>
            </>
          )}
          <dt>Account</dt>
          <dd>{visitor.accountName}</dd>
          <dt>Signed in as</dt>
          <dd>{visitor.email}</dd>
          <dt>Requested permission</dt>
          <dd>{request.asked === undefined ? "None: choose one below." : tierWords[request.asked].name}</dd>
        </dl>
      </div>
      <form method="post" action={oauthPaths.decision} class="fields">
        <input type="hidden" name={consentFields.consent} value={consent.id} />
        <input type="hidden" name={consentFields.formToken} value={consent.formToken} />
        <fieldset>
          <legend>Permissions</legend>
          {upTo(consent.highest).map((tier) => (
            <label class="choice" key={tier}>
              <input
                type="radio"
                name={consentFields.tier}
                value={tier}
                checked={tier === (request.asked === undefined ? "pim:read" : consent.highest)}
              />
              <strong>{tierWords[tier].name}</strong> <span class="quiet">{tierWords[tier].meaning}</span>
            </label>
          ))}
          {isLimitedByRole && (
            <p class="quiet">
              Your role is {roleWords[visitor.role].name}, so you cannot allow more. If your role is lowered later, this
              connection is limited with it.
            </p>
          )}
        </fieldset>
        <Limits {...consent} />
        <div class="buttons">
          <button type="submit" name={consentFields.decision} value="allow">
            Allow
          </button>
          <button type="submit" name={consentFields.decision} value="deny" class="plain">
            Deny
          </button>
        </div>
      </form>
      <p class="quiet">You can end the connection at any time under Agents.</p>
    </Frame>
  )
}
