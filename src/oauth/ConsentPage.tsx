import type { Checked, Consent } from "../connections/Consents.ts"
import { destinationOf } from "../connections/RedirectUri.ts"
import { Tier, tierWords, upTo } from "../connections/Tier.ts"
import type { Visitor } from "../console/Browser.ts"
import { Frame } from "../console/Frame.tsx"
import { oauthPaths } from "./Paths.ts"

/** Names of the fields of the consent form. */
export const consentFields = {
  consent: "consent",
  formToken: "form_token",
  tier: "tier",
  decision: "decision"
} as const

/** `target`: the address of this request, to continue after another sign-in. */
export const ConsentPage = ({
  consent,
  request,
  target,
  visitor
}: {
  readonly visitor: Visitor
  readonly request: Checked
  readonly consent: Consent
  readonly target: string
}) => {
  const { client, redirectUri } = request
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
          <dt>Account</dt>
          <dd>{visitor.accountName}</dd>
          <dt>Signed in as</dt>
          <dd>{visitor.email}</dd>
          <dt>Requested permission</dt>
          <dd>{request.asked === undefined ? "None in particular: you choose." : tierWords[request.asked].name}</dd>
        </dl>
      </div>
      <form method="post" action={oauthPaths.decision} class="fields">
        <input type="hidden" name={consentFields.consent} value={consent.id} />
        <input type="hidden" name={consentFields.formToken} value={consent.formToken} />
        <fieldset>
          <legend>Permissions</legend>
          {upTo(consent.highest).map((tier) => (
            <label class="choice" key={tier}>
              <input type="radio" name={consentFields.tier} value={tier} checked={tier === Tier.literals[0]} />
              <strong>{tierWords[tier].name}</strong> <span class="quiet">{tierWords[tier].meaning}</span>
            </label>
          ))}
        </fieldset>
        <div class="buttons">
          <button type="submit" name={consentFields.decision} value="allow">
            Allow
          </button>
          <button type="submit" name={consentFields.decision} value="deny" class="plain">
            Deny
          </button>
        </div>
      </form>
      <p class="quiet">You can end the connection at any time under Connections.</p>
    </Frame>
  )
}
