import { Effect } from "effect"
import { WebhookId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"
import { WebhookRpcs } from "./AdminRpcs.ts"
import { parseId } from "./FindByName.ts"

const webhookId = parseId(WebhookId)

export const WebhookHandlers = WebhookRpcs.toLayer(
  Effect.gen(function* () {
    const webhooks = yield* Webhooks

    return {
      createWebhook: (webhook) =>
        Effect.flatMap(mintId(WebhookId), (id) => webhooks.create(id, webhook)).pipe(
          // The id is new and random, so no webhook has it.
          Effect.catchTag("WebhookExists", Effect.die)
        ),
      listWebhooks: () => webhooks.list,
      showWebhook: ({ id }) =>
        Effect.flatMap(webhookId(id), (id) =>
          Effect.all({ webhook: webhooks.get(id), setAside: webhooks.setAside(id) })
        ),
      testWebhook: ({ id }) => Effect.flatMap(webhookId(id), webhooks.test),
      replayWebhook: ({ from, id }) => Effect.flatMap(webhookId(id), (id) => webhooks.replay(id, from)),
      rotateWebhook: ({ id }) =>
        Effect.flatMap(webhookId(id), (id) => webhooks.rotate(id)).pipe(
          // A rotation without a digest replaces any secret.
          Effect.catchTag("SecretRotated", Effect.die)
        ),
      deleteWebhook: ({ id }) => Effect.flatMap(webhookId(id), webhooks.delete)
    }
  })
)
