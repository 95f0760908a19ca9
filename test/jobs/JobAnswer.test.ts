import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { Job } from "../../src/jobs/Job.ts"

/** The answer about a job of a server that does not know the newest fields. */
const older = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  kind: "publish_waiting",
  title: "Publish all changes to tern.example",
  state: "queued",
  done: 0,
  total: 1,
  result: {},
  errors: [],
  error_count: 0,
  problem: null,
  waiting_for: "the outcomes of publishes (1 left)",
  author: { kind: "cli", id: null, name: null },
  created_at: "2026-11-30T12:00:00.000000Z",
  started_at: null,
  ended_at: null
}

it("an answer of an older server is read, and one with fields of a newer server too", () => {
  const read = Schema.decodeUnknownSync(Job)
  const { deleted, waits_for_platform } = read(older)
  assert.deepStrictEqual({ deleted, waits_for_platform }, { deleted: [], waits_for_platform: false })
  assert.isTrue(read({ ...older, waits_for_platform: true, later: 1 }).waits_for_platform)
})
