import { Effect } from "effect"
import { WebhookId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { parseId } from "./FindByName.ts"
import { WebhookRpcs } from "./WebhookRpcs.ts"

const webhookId = parseId(WebhookId)

export const WebhookHandlers = WebhookRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const webhooks = yield* Webhooks

    return {
      createWebhook: ({ account, ...webhook }) =>
        Effect.flatMap(mintId(WebhookId), (id) => webhooks.create(id, webhook)).pipe(
          // The id is new and random, so no webhook has it.
          Effect.catchTag("WebhookExists", Effect.die),
          forAccount(account)
        ),
      listWebhooks: ({ account }) => forAccount(account)(webhooks.list),
      showWebhook: ({ account, id }) =>
        forAccount(account)(
          Effect.flatMap(webhookId(id), (id) =>
            Effect.all({ webhook: webhooks.get(id), setAside: webhooks.setAside(id) })
          )
        ),
      testWebhook: ({ account, id }) => forAccount(account)(Effect.flatMap(webhookId(id), webhooks.test)),
      replayWebhook: ({ account, from, id }) =>
        forAccount(account)(Effect.flatMap(webhookId(id), (id) => webhooks.replay(id, from))),
      rotateWebhook: ({ account, id }) => forAccount(account)(Effect.flatMap(webhookId(id), webhooks.rotate)),
      deleteWebhook: ({ account, id }) => forAccount(account)(Effect.flatMap(webhookId(id), webhooks.delete))
    }
  })
)
