import { assert, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Effect } from "effect"
import { actingAs, CatalogChange, CatalogChanges, Publishing } from "../../src/testing/index.ts"
import { aConnection, ample, baseUrlOf, connectorWith, message, messageIn, portOf, send } from "./Connector.ts"
import { aShop } from "./Shop.ts"

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

/**
 * Calls publish_master_v1 as a client with these capabilities. `answer`: the user's answer, with the state of the
 * question that it answers.
 */
const publishWith =
  (token: string, capabilities: object) =>
  (args: object, answer?: { readonly action: string; readonly state?: unknown }) =>
    Effect.gen(function* () {
      const { body, headers } = message("modern", "tools/call", { name: "publish_master_v1", arguments: args })
      const sent = JSON.parse(body)
      sent.params._meta[capabilitiesKey] = capabilities
      if (answer !== undefined) {
        sent.params.inputResponses = { publish: { action: answer.action, content: {} } }
        if (answer.state !== undefined) sent.params.requestState = answer.state
      }
      const got = yield* send(yield* portOf, { token, headers, body: JSON.stringify(sent) })
      assert.strictEqual(got.status, 200, got.text)
      return messageIn(got).result
    })

const forms = { elicitation: { form: {} } }
const accepted = (asked: { readonly requestState?: unknown }) => ({ action: "accept", state: asked.requestState })

layer(connectorWith(ample), { excludeTestServices: true })("a publish", (it) => {
  it.effect("asks the user, if the client can show forms, with the text of the dry run, and waits for the answer", () =>
    Effect.gen(function* () {
      const { call, mastersOf, store, token } = yield* aShop(1)
      const [master] = yield* mastersOf
      assert(master !== undefined)
      const pending = Effect.map(
        call("get_projection_v1", { master_id: master.master_id, channel_id: store.id }),
        ({ structuredContent }) => structuredContent.last_publish_status
      )
      for (const capabilities of [forms, { elicitation: {} }]) {
        const publish = publishWith(token, capabilities)
        const asked = yield* publish(master)
        assert.strictEqual(asked.resultType, "input_required")
        assert.deepStrictEqual(asked.inputRequests.publish, {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: `Publish this?\n"Collection 0"\n${store.domain}: publish for the first time\n- title: "Collection 0"`,
            requestedSchema: { type: "object", properties: {} }
          }
        })
        assert.isUndefined(asked.structuredContent)
        for (const action of ["decline", "cancel"]) {
          const declined = yield* publish(master, { action, state: asked.requestState })
          assert.isTrue(declined.isError)
          assert.strictEqual(
            declined.content[0].text,
            "Not published: the user declined. Nothing was done; the draft is kept."
          )
        }
      }
      assert.strictEqual(yield* pending, "never_published")
      const publish = publishWith(token, forms)
      const done = yield* publish(master, accepted(yield* publish(master)))
      assert.strictEqual(done.structuredContent.channels[0].outcome, "pending")
      assert.notStrictEqual(yield* pending, "never_published")
    })
  )

  it.effect("does not ask for a dry run, a refused call, or when there is nothing to publish", () =>
    Effect.gen(function* () {
      const { accountId, files, mastersOf, token } = yield* aShop(1)
      const [master] = yield* mastersOf
      assert(master !== undefined)
      const publish = publishWith(token, forms)
      const dry = yield* publish({ ...master, dry_run: true })
      assert.strictEqual(dry.structuredContent.channels[0].outcome, "would_publish")
      const stale = yield* publish({ ...master, draft_revision: master.draft_revision + 1 })
      assert.match(stale.content[0].text, /^Conflict: draft_revision /)
      const absent = yield* publish({ ...master, channel_ids: [files.id] })
      assert.isTrue(absent.isError)
      const unknown = yield* publish({ ...master, more: 1 })
      assert.match(unknown.content[0].text, /^Invalid: more: is unknown;/)
      const { token: confirmed } = yield* aConnection(accountId, "pim:publish", { confirmPublish: true })
      for (const publishing of [publish, publishWith(token, {}), publishWith(confirmed, {})])
        for (const dry_run of ["true", 1, [true]])
          assert.strictEqual(
            (yield* publishing({ ...master, dry_run })).content[0].text,
            "Invalid: dry_run: must be true or false. Nothing was changed. Correct this and call publish_master_v1 again."
          )
    })
  )

  it.effect("publishes the draft that the user saw: a later draft is refused", () =>
    Effect.gen(function* () {
      const { call, mastersOf, token } = yield* aShop(1)
      const [master] = yield* mastersOf
      assert(master !== undefined)
      const publish = publishWith(token, forms)
      const asked = yield* publish(master)
      yield* call("update_master_attributes_v1", { ...master, attributes: [{ key: "title", value: "Later" }] })
      const refused = yield* publish(master, accepted(asked))
      assert.match(refused.content[0].text, /^Conflict: draft_revision /)
    })
  )

  it.effect(
    "needs the answer to its own question: without an answer, or with the answer to another question, the user is asked again",
    () =>
      Effect.gen(function* () {
        const { accountId, call, mastersOf, store, token } = yield* aShop(2)
        const [first, second] = yield* mastersOf
        assert(first !== undefined && second !== undefined)
        const publish = publishWith(token, forms)
        const asked = yield* publish(first)
        const other = yield* aConnection(accountId)
        const again = [
          yield* publish(first, { action: "accept" }),
          yield* publish(first, { action: "accept", state: "x".repeat(32) }),
          yield* publish(second, accepted(asked)),
          yield* publish({ ...first, channel_ids: [store.id] }, accepted(asked)),
          yield* publishWith(other.token, forms)(first, accepted(asked))
        ]
        for (const { resultType } of again) assert.strictEqual(resultType, "input_required")
        for (const { master_id } of [first, second]) {
          const { structuredContent } = yield* call("get_projection_v1", { master_id, channel_id: store.id })
          assert.strictEqual(structuredContent.last_publish_status, "never_published")
        }
        assert.strictEqual((yield* publish(first, accepted(asked))).structuredContent.channels[0].outcome, "pending")
      })
  )

  it.effect("of several masters publishes those that the user saw, and returns the other outcomes unchanged", () =>
    Effect.gen(function* () {
      const { call, mastersOf, store, token } = yield* aShop(3)
      const [first, second, third] = yield* mastersOf
      assert(first !== undefined && second !== undefined && third !== undefined)
      const publish = publishWith(token, forms)
      const later = { ...second, draft_revision: second.draft_revision + 1 }
      const args = { masters: [first, later, third], channel_ids: [store.id] }
      const asked = yield* publish(args)
      assert.include(asked.inputRequests.publish.params.message, "conflict")
      const done = yield* publish(args, accepted(asked))
      assert.deepStrictEqual(
        done.structuredContent.masters.map(({ outcome }: { outcome: string }) => outcome),
        ["pending", "conflict", "pending"]
      )
      // The only master cannot be published, so the user is not asked.
      const alone = yield* publish({ masters: [later], channel_ids: [store.id] })
      assert.strictEqual(alone.structuredContent.masters[0].outcome, "conflict")
      const { structuredContent } = yield* call("get_projection_v1", {
        master_id: second.master_id,
        channel_id: store.id
      })
      assert.strictEqual(structuredContent.last_publish_status, "never_published")
    })
  )

  it.effect("of 50 masters with long values asks about all, and publishes all", () =>
    Effect.gen(function* () {
      const { actor, ids, mastersOf, store, token } = yield* aShop(50)
      const line = "x".repeat(240)
      yield* (yield* CatalogChanges)
        .apply(
          ids.map((entityId, place) =>
            CatalogChange.SetAttributes({
              entityId,
              values: {
                title: `${place} ${line}`,
                handle: `${place}-${line}`,
                description_html: line.repeat(20),
                seo_title: line,
                seo_description: line
              }
            })
          )
        )
        .pipe(actingAs(actor))
      const args = { masters: yield* mastersOf, channel_ids: [store.id] }
      const outcomesIn = ({
        structuredContent
      }: {
        structuredContent: { masters: ReadonlyArray<{ outcome: string }> }
      }) => structuredContent.masters.map(({ outcome }) => outcome)
      const publish = publishWith(token, forms)
      const dry = yield* publish({ ...args, dry_run: true })
      assert.deepStrictEqual(outcomesIn(dry), Array(50).fill("would_publish"))
      assert.isAtMost(dry.content[0].text.length, 60_000)
      assert.include(dry.structuredContent.masters[49].truncated_keys, "description_html")
      const asked = yield* publish(args)
      const lines: ReadonlyArray<string> = asked.inputRequests.publish.params.message.split("\n")
      assert.lengthOf(
        lines.filter((text) => text.endsWith(": publish for the first time")),
        50
      )
      assert.deepStrictEqual(outcomesIn(yield* publish(args, accepted(asked))), Array(50).fill("pending"))
    })
  )

  it.effect("asks in lines that a title cannot break", () =>
    Effect.gen(function* () {
      const { call, mastersOf, token } = yield* aShop(1)
      const [master] = yield* mastersOf
      assert(master !== undefined)
      const { structuredContent } = yield* call("update_master_attributes_v1", {
        ...master,
        attributes: [{ key: "title", value: 'Boots": nothing\u2028Nothing will change.\u202e"Socks' }]
      })
      const asked = yield* publishWith(
        token,
        forms
      )({
        master_id: master.master_id,
        draft_revision: structuredContent.draft_revision
      })
      const lines: ReadonlyArray<string> = asked.inputRequests.publish.params.message.split(/[\n\u2028\u2029]/)
      assert.strictEqual(lines[1], '"Boots\\": nothing Nothing will change. \\"Socks"')
      assert.strictEqual(lines.length, 4)
    })
  )

  it.effect("by a connection whose publishes must be confirmed continues only after the user agreed", () =>
    Effect.gen(function* () {
      const { accountId, mastersOf } = yield* aShop(1)
      const [master] = yield* mastersOf
      assert(master !== undefined)
      const { token } = yield* aConnection(accountId, "pim:publish", { confirmPublish: true })
      const refused = yield* publishWith(token, {})(master)
      assert.match(refused.content[0].text, /^Not published: the merchant must confirm each publish/)
      // A client that can open web pages but show no forms cannot show the question.
      assert.isTrue((yield* publishWith(token, { elicitation: { url: {} } })(master)).isError)
      // An answer from a client that cannot show the question does not count.
      assert.isTrue((yield* publishWith(token, {})(master, { action: "accept" })).isError)
      const dry = yield* publishWith(token, {})({ ...master, dry_run: true })
      assert.strictEqual(dry.structuredContent.channels[0].outcome, "would_publish")
      const asked = yield* publishWith(token, forms)(master)
      assert.strictEqual(asked.resultType, "input_required")
      const done = yield* publishWith(token, forms)(master, accepted(asked))
      assert.strictEqual(done.structuredContent.channels[0].outcome, "pending")
    })
  )

  it.effect("is confirmed once by the user of the SDK's client", () =>
    Effect.gen(function* () {
      const { mastersOf, store, token } = yield* aShop(2)
      const masters = yield* mastersOf
      const client = new Client(
        { name: "test", version: "1" },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } }
      )
      const questions: Array<string> = []
      client.setRequestHandler("elicitation/create", ({ params }) => {
        questions.push(params.message)
        return { action: "accept", content: {} }
      })
      const url = new URL(`${yield* baseUrlOf}/mcp`)
      yield* Effect.promise(() =>
        client.connect(
          new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
        )
      )
      const { structuredContent } = yield* Effect.promise(() =>
        client.callTool({ name: "publish_master_v1", arguments: { masters, channel_ids: [store.id] } })
      )
      yield* Effect.promise(() => client.close())
      assert.strictEqual(questions.length, 1)
      assert.include(questions[0], '"Collection 0": publish for the first time\n- title: "Collection 0"')
      const { masters: rows } = structuredContent as { masters: ReadonlyArray<{ outcome: string }> }
      assert.deepStrictEqual(
        rows.map(({ outcome }) => outcome),
        ["pending", "pending"]
      )
    })
  )
})

layer(connectorWith(ample), { excludeTestServices: true })("progress of a batch", (it) => {
  for (const era of ["modern", "legacy"] as const)
    it.scoped(`is reported for each master before the result (${era})`, () =>
      Effect.gen(function* () {
        const { mastersOf, store, token } = yield* aShop(3)
        const masters = yield* mastersOf
        yield* Effect.forkScoped((yield* Publishing).work)
        const { body, headers } = message(era, "tools/call", {
          name: "publish_master_v1",
          arguments: { masters, channel_ids: [store.id] }
        })
        const sent = JSON.parse(body)
        sent.params._meta = { ...sent.params._meta, progressToken: "p1" }
        const answer = yield* send(yield* portOf, { token, headers, body: JSON.stringify(sent) })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
        const events = [...answer.text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))
        const notes = events.slice(0, -1)
        assert.deepStrictEqual(
          notes.map(({ method, params }) => [method, params.progressToken, params.progress, params.total]),
          [1, 2, 3].map((done) => ["notifications/progress", "p1", done, 3])
        )
        for (const { params } of notes) assert.match(params.message, /^Collection \d: published$/)
        const { result } = events.at(-1)
        assert.strictEqual(result.content[0].text, JSON.stringify(result.structuredContent))
        assert.deepStrictEqual(
          result.structuredContent.masters.map(({ outcome }: { outcome: string }) => outcome),
          ["published", "published", "published"]
        )
      })
    )

  it.scoped("is reported once if the user confirms it, and not for the dry run before", () =>
    Effect.gen(function* () {
      const { mastersOf, store, token } = yield* aShop(3)
      const masters = yield* mastersOf
      yield* Effect.forkScoped((yield* Publishing).work)
      const publish = (answer?: { readonly action: string; readonly state: unknown }) =>
        Effect.gen(function* () {
          const { body, headers } = message("modern", "tools/call", {
            name: "publish_master_v1",
            arguments: { masters, channel_ids: [store.id] }
          })
          const sent = JSON.parse(body)
          sent.params._meta = { ...sent.params._meta, progressToken: "p1", [capabilitiesKey]: forms }
          if (answer !== undefined) {
            sent.params.inputResponses = { publish: { action: answer.action, content: {} } }
            sent.params.requestState = answer.state
          }
          const got = yield* send(yield* portOf, { token, headers, body: JSON.stringify(sent) })
          assert.strictEqual(got.status, 200, got.text)
          return got
        })
      // One message: the question, without notifications.
      const asked = messageIn(yield* publish()).result
      assert.strictEqual(asked.resultType, "input_required")
      const { text } = yield* publish(accepted(asked))
      const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))
      assert.deepStrictEqual(
        events.slice(0, -1).map(({ params }) => [params.progress, params.total]),
        [1, 2, 3].map((done) => [done, 3])
      )
      for (const { params } of events.slice(0, -1)) assert.match(params.message, /^Collection \d: published$/)
      assert.lengthOf(events.at(-1).result.structuredContent.masters, 3)
    })
  )

  it.effect("needs a short progress token, because every notification repeats it", () =>
    Effect.gen(function* () {
      const { token } = yield* aShop(0)
      for (const era of ["modern", "legacy"] as const) {
        const { body, headers } = message(era, "tools/call", { name: "publish_master_v1", arguments: {} }, 9)
        const sent = JSON.parse(body)
        sent.params._meta = { ...sent.params._meta, progressToken: "x".repeat(201) }
        const answer = yield* send(yield* portOf, { token, headers, body: JSON.stringify(sent) })
        assert.strictEqual(answer.status, 400)
        const { error, id } = JSON.parse(answer.text)
        assert.strictEqual(id, 9)
        assert.strictEqual(error.code, -32_602)
        assert.strictEqual(error.message, "Invalid params: _meta.progressToken must have at most 200 characters.")
        assert.strictEqual(error.data.code, "validation_failed")
      }
    })
  )
})
