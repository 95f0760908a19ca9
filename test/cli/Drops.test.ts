import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { historyLine } from "../../src/cli/DraftCommands.ts"
import { DropId, StoreId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "catalog-drops-"))
afterAll(() => rmSync(folder, { recursive: true }))

interface Listed {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly changes: ReadonlyArray<{ readonly entity_id: string; readonly store_id: string | null }>
}

describe("a line of the history", () => {
  it("names the drop and who scheduled it", () => {
    const line = historyLine({
      at: fromMillis(0),
      draft_revision: 2,
      actor: { kind: "user", id: null, name: "ada@shop.example" },
      store_id: StoreId.make("5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10"),
      store_domain: "a.example",
      import_id: null,
      undo_of: null,
      drop: { id: DropId.make("5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f11"), name: "Sale" },
      action: "attributes",
      changes: [{ key: "price", old: null, new: "8.00" }],
      error: null
    })
    assert.strictEqual(
      line,
      '1970-01-01T00:00:00Z  revision 2  drop "Sale" scheduled by user "ada@shop.example"  a.example: price inherited -> "8.00"'
    )
  })
})

describe.skipIf(!serverAnswers)("drop commands", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("schedule by flags or by file, list, show and cancel", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { run, json, refusal } = commandsWith({ DATABASE_URL, BASE_URL: "https://pim.example" })
        const file = (name: string, content: unknown) => {
          const path = join(folder, name)
          writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
          return path
        }

        yield* json("demo")
        const [over, ahead]: ReadonlyArray<Listed> = (yield* json("drop", "list")).drops
        assert.deepStrictEqual(
          [over?.name, over?.status, ahead?.name, ahead?.status],
          ["Open hut weekend", "reverted", "First snow prices", "scheduled"]
        )
        const entity = ahead?.changes[0]?.entity_id ?? ""
        const { stores } = yield* json("store", "list")
        const europe = stores.find(({ id }: { id: string }) => id === ahead?.changes[0]?.store_id)
        const flags = ["--name", "Sale", "--starts", "2030-01-31T09:30:00+01:00", "--ends", "2030-02-01T00:00:00Z"]
        const made = yield* json(
          ...["drop", "create", ...flags, "--timezone", "Europe/Berlin"],
          ...["--entity", entity, "--store", europe.domain, "price=9.00", "barcode="]
        )
        assert.deepInclude(made, {
          name: "Sale",
          status: "scheduled",
          starts_at: "2030-01-31T08:30:00.000000Z",
          ends_at: "2030-02-01T00:00:00.000000Z",
          timezone: "Europe/Berlin"
        })
        const change = {
          entity_id: entity,
          entity_type: "variant",
          store_id: europe.id,
          outcome: null,
          error: null,
          deleted_name: null
        }
        assert.deepStrictEqual(made.changes, [
          { ...change, field: "price", value: "9.00" },
          { ...change, field: "barcode", value: "" }
        ])
        assert.deepStrictEqual(yield* json("drop", "show", made.id.toUpperCase()), made)
        assert.deepStrictEqual((yield* run("drop", "show", made.id)).stdout.trimEnd().split("\n"), [
          `Sale (${made.id}): scheduled, 2030-01-31T08:30:00Z to 2030-02-01T00:00:00Z (Europe/Berlin)`,
          `  variant ${entity} on ${europe.id}: price = "9.00"`,
          `  variant ${entity} on ${europe.id}: barcode = ""`
        ])
        const again = ["drop", "create", ...flags, "--entity", entity, "price=8.00"]
        assert.strictEqual(
          yield* refusal(...again),
          `price: the drop "Sale" (${made.id}) changes this field at the same time`
        )
        assert.deepInclude(yield* json("drop", "cancel", made.id), { id: made.id, status: "cancelled" })
        assert.strictEqual(
          yield* refusal("drop", "cancel", made.id),
          "the drop is cancelled: only a scheduled one can be cancelled"
        )
        for (const command of ["show", "cancel"])
          assert.strictEqual(
            yield* refusal("drop", command, "nonsense"),
            "The account has no drop nonsense: see `catalog drop list`."
          )

        const whole = {
          name: "From a file",
          starts_at: "2030-01-31T09:30:00Z",
          changes: [
            { entity_id: entity, store_id: europe.domain, field: "price", value: "7.00" },
            { entity_id: entity, field: "barcode", value: "1" }
          ]
        }
        const filed = yield* json("drop", "create", "--from", file("good.json", whole))
        assert.deepInclude(filed, { name: "From a file", ends_at: null, timezone: "UTC" })
        assert.deepStrictEqual(
          filed.changes.map(({ store_id }: { store_id: string | null }) => store_id),
          [europe.id, null]
        )
        const misfit = file("misfit.json", {
          ...whole,
          changes: [{ ...whole.changes[0], store_id: "nowhere.example" }]
        })
        assert.strictEqual(
          yield* refusal("drop", "create", "--from", misfit),
          "changes[0].store_id: no such store is linked"
        )
        const shape = file("shape.json", { ...whole, changes: [{ entity_id: entity, field: "price", value: 7 }] })
        assert.match(
          yield* refusal("drop", "create", "--from", shape),
          /^--from: \S+shape\.json is not a drop at changes\[0\]\.value: it must hold name, starts_at,/
        )
        const nowhere = {
          entity_id: "00000000-0000-4000-8000-00000000dead",
          store_id: null,
          field: "title",
          value: "x"
        }
        const tooMany = { ...whole, changes: Array.from({ length: 2_001 }, () => nowhere) }
        assert.match(
          yield* refusal("drop", "create", "--from", file("many.json", tooMany)),
          /^changes: must have 1 to 2000 changes; changes\[0\]\.entity_id: no such entity; .*; and 3,980 more$/
        )
        assert.match(
          yield* refusal("drop", "create", "--from", file("odd.json", "{")),
          /^--from: \S+odd\.json is not JSON$/
        )
        for (const flag of [
          ["--name", "Other"],
          ["--timezone", "Europe/Berlin"]
        ])
          assert.strictEqual(
            yield* refusal("drop", "create", "--from", file("good.json", whole), ...flag),
            "--from cannot be combined with other flags, because the file describes the whole drop."
          )
        assert.strictEqual(
          yield* refusal("drop", "create", "--name", "Sale"),
          "Give --name, --starts, --entity and KEY=VALUE, or --from FILE."
        )
        assert.strictEqual(
          yield* refusal(
            ...["drop", "create", "--name", "Sale", "--starts", "2020-01-31T09:30:00Z", "--ends", "soon"],
            ...["--entity", "nobody", "--store", "nowhere.example", "--timezone", "Mars", "price=1", "colour=red"]
          ),
          "--starts: must not be in the past; --ends: must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z; --timezone: must be an IANA time zone such as Europe/Berlin; --store: no such store is linked; --entity: no such entity"
        )
      })
    )
  })
})

describe.skipIf(!serverAnswers)("drop show", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("names what was deleted since, which an unlinked store had", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { run, json, partly } = commandsWith({ DATABASE_URL, BASE_URL: "https://pim.example" })
        yield* json("demo")
        const [over, ahead]: ReadonlyArray<Listed> = (yield* json("drop", "list")).drops
        const [id, next] = [over?.id ?? "", ahead?.id ?? ""]
        const before = yield* json("drop", "show", id)
        const { stores } = yield* json("store", "list")
        for (const { domain } of stores) yield* run("store", "unlink", domain)
        const deletion = JSON.parse((yield* partly("bulk", "delete", "product", "--all", "--json")).output)
        assert.strictEqual(deletion.error_count, deletion.result.refused)
        const planned =
          /^(its variant [0-9a-f-]{36}: )?the drop "First snow prices" will change it: cancel the drop first, or wait until the drop has ended$/
        assert.isAbove(deletion.errors.length, 0)
        for (const { message } of deletion.errors) assert.match(message, planned)
        yield* run("drop", "cancel", next)
        assert.deepInclude((yield* json("bulk", "delete", "product", "--all")).result, { refused: 0 })
        for (const { domain } of stores) yield* run("store", "link", domain, "--platform", "demo")
        const after = yield* json("drop", "show", id)
        const names: ReadonlyArray<string> = after.changes.map(
          ({ deleted_name }: { deleted_name: string }) => deleted_name
        )
        assert.isAbove(names.length, 0)
        for (const name of names) assert.match(name, /^[A-Z]/)
        assert.deepStrictEqual(after, {
          ...before,
          changes: before.changes.map((change: object, index: number) => ({ ...change, deleted_name: names[index] }))
        })
        const lines = (yield* run("drop", "show", id)).stdout.trimEnd().split("\n")
        assert.deepStrictEqual(
          lines.slice(1),
          after.changes.map(
            (change: Readonly<Record<string, string>>) =>
              `  ${change.entity_type} ${change.entity_id} (deleted, ${JSON.stringify(change.deleted_name)}) on ${change.store_id ?? "every store"}: ${change.field} = ${JSON.stringify(change.value)}, ${change.outcome}`
          )
        )
      })
    )
  })
})
