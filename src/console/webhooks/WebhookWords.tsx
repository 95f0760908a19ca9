import type { WebhookState } from "../../webhooks/Webhook.ts"
import { CopyText } from "../Field.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { State } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"

const stateWords: Readonly<Record<WebhookState, { readonly name: Sentence; readonly tone: string }>> = {
  active: { name: "Active", tone: "good" },
  failing: { name: "Failing", tone: "wait" },
  stopped: { name: "Stopped", tone: "bad" },
  gone: { name: "Refused (410)", tone: "bad" },
  behind: { name: "Behind the feed", tone: "bad" }
}

export const WebhookStateOf = ({ state }: { readonly state: WebhookState }) => <State {...stateWords[state]} />

/** A new secret, on the only page that shows it. */
export const NewSecret = ({ secret }: { readonly secret: string }) => {
  const t = useWords()
  return (
    <>
      <p>{t("Copy its secret now: it is shown only once. Receivers verify the signature of each message with it.")}</p>
      <CopyText id="new-secret" label={t("Secret")} text={secret} />
    </>
  )
}
