import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Users } from "../../src/access/Users.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask } from "../oauth/PagesServer.ts"

const cookieOf = ({ headers }: { readonly headers: Headers }) => headers.get("set-cookie")?.split(";")[0] ?? ""

/** A user of the account who has set a password, and the browser in which this user is signed in. */
export const signedIn = (accountId: AccountId, email: string) =>
  Effect.gen(function* () {
    const password = "tern over tarn 1"
    const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email, { role: "admin" }))
    yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
    const { hidden } = sectionsOf((yield* ask("/sign-in")).text, "/sign-in")
    const answer = yield* ask("/sign-in", { form: { ...hidden, email, password } })
    assert.strictEqual(answer.status, 303, answer.text)
    return cookieOf(answer)
  })
