import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AccountId, EntityId, WebhookId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { DeliveryBatch } from "../../src/webhooks/DeliveryBatch.ts"
import { type ClaimedWebhook, delayAfter, maxFailures, retrySeconds } from "../../src/webhooks/Webhook.ts"

const uuid = "0b9f5d52-6f0e-7a7c-9b35-2f1f6f3d7a10"

/** A webhook whose deliveries have failed for more than three days. */
const failing: ClaimedWebhook = {
  accountId: Schema.decodeSync(AccountId)(uuid),
  id: Schema.decodeSync(WebhookId)(uuid),
  claim: uuid,
  url: "https://hooks.example/",
  topics: ["entity.created"],
  secret: new Uint8Array(),
  previousSecret: null,
  position: 0,
  failures: maxFailures,
  failingSeconds: retrySeconds + 1,
  problem: "It answered 503.",
  hasWaiting: false
}

const batchOf = (type: "entity.created" | "entity.updated") => {
  const entity = { id: Schema.decodeSync(EntityId)(uuid), type: "product" as const }
  const change = { seq: 1, at: fromMillis(0), type, entity, what: [] }
  return new DeliveryBatch(failing, [change], [], new Set())
}

describe("a batch of a webhook whose receiver fails", () => {
  it("keeps the problem, and neither stops nor delays the webhook, if no delivery was tried", () => {
    const without = batchOf("entity.updated")
    assert.deepInclude(without.outcome, { position: 1, problem: "It answered 503.", state: "active" })
    assert.strictEqual(without.delaySeconds, 0)
    const late = batchOf("entity.created")
    assert.deepInclude(late.outcome, { position: 0, problem: "It answered 503.", state: "active" })
    assert.strictEqual(late.delaySeconds, 0)
  })

  it("stops the webhook if a further delivery fails after three days of failures", () => {
    const batch = batchOf("entity.created")
    const [chain = assert.fail("no chain")] = batch.chains
    batch.record(chain, 0, { problem: "It answered 500.", isGone: false, retryAfter: 0 })
    assert.deepInclude(batch.outcome, { position: 1, problem: "It answered 500.", state: "stopped" })
    assert.strictEqual(batch.delaySeconds, delayAfter(2))
  })

  it("is over when the receiver fails again, also after it has accepted a message", () => {
    const changes = Array.from({ length: maxFailures + 2 }, (_, index) => ({
      seq: index + 1,
      at: fromMillis(0),
      type: "entity.created" as const,
      entity: { id: EntityId.make(`0b9f5d52-6f0e-7a7c-9b35-2f1f6f3d7a1${index}`), type: "product" as const },
      what: []
    }))
    const batch = new DeliveryBatch({ ...failing, failures: 3 * maxFailures }, changes, [], new Set())
    const [first = assert.fail("no chain"), ...others] = batch.chains
    batch.record(first, 0, null)
    for (const chain of others.slice(0, maxFailures)) {
      assert.isFalse(batch.isOver)
      batch.record(chain, 0, { problem: "It answered 500.", isGone: false, retryAfter: 0 })
    }
    assert.isTrue(batch.isOver)
  })
})
