import { Effect, Schedule } from "effect"
import { textOf } from "../console/Merchant.ts"
import type { Answer } from "../mcp/Connector.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser } from "../oauth/PagesServer.ts"
import { orHangs } from "../support/HangLimit.ts"
import { ask, type Client, refuse, type ServedProcess, toServer } from "./ClusterClients.ts"

export type Processes = ReadonlyArray<ServedProcess>
export type Form = Readonly<Record<string, string>>

/** A user of an account who works on pages. */
export interface PageUser extends Client {
  readonly cookie: string
}

export const aPageUserOf = (client: Client) =>
  Effect.map(
    aBrowser(client.accountId, `${client.accountId}@example.com`),
    ({ cookie }): PageUser => ({ ...client, cookie, wrong: [] })
  )

/** What a form sends: its fields, or a body of another type. */
type Sent = { readonly form: Form } | { readonly type: string; readonly body: string }

const bodyOf = (sent: Sent) =>
  "form" in sent
    ? { type: "application/x-www-form-urlencoded", body: `${new URLSearchParams(sent.form)}` }
    : { type: sent.type, body: sent.body }

/** The page of a refusal with 503. */
const refusalPage =
  "Not available at the moment The service cannot answer at the moment. Try again in a minute. To the start page"

/** Refusals of pages that are no faults: a form was sent twice, or another job or an import of the account excludes it. */
const conflicts = [400, 404, 409, 423, 429]

/** Reads a page, or sends a form. Undefined: no answer, or refused. `mayBeCut`: as for `ask`. */
export const open = (processes: Processes, user: PageUser, path: string, sent?: Sent, mayBeCut = false) =>
  Effect.gen(function* () {
    const sentAt = performance.now()
    const headers = { ...toServer, accept: "text/html", cookie: user.cookie }
    const content = sent && bodyOf(sent)
    const answer = yield* ask(
      processes,
      user,
      content === undefined
        ? { method: "GET", path, headers }
        : { path, headers: { ...headers, "content-type": content.type }, body: content.body },
      mayBeCut
    )
    if (answer === undefined) return undefined
    if (answer.status < 400) return answer
    if (answer.status === 503 && textOf(answer) === refusalPage)
      refuse(user, sent === undefined ? "refusedReads" : "refusedWrites", sentAt, answer)
    else if (conflicts.includes(answer.status)) user.conflicts += 1
    else user.wrong.push(`${path} ${answer.status} ${answer.headers["x-request-id"]}: ${textOf(answer)}`)
    return undefined
  })

/** Sends the form of a page. Undefined also if the page has none, for example because there is nothing to undo. */
export const fill = (processes: Processes, user: PageUser, shown: Answer | undefined, action: string, more: Form) =>
  Effect.gen(function* () {
    if (shown?.status !== 200 || !shown.text.includes(`action="${action}"`)) return undefined
    const form = { ...sectionsOf(shown.text, action).hidden, ...more }
    return yield* open(processes, user, action, { form })
  })

/** Repeats a step until the user is paused. The turn that was begun is completed. */
export const inTurns = <E, R>(
  user: PageUser,
  pauseMillis: number,
  step: (turn: number) => Effect.Effect<unknown, E, R>
) =>
  Effect.gen(function* () {
    for (let turn = 0; !user.isPaused; turn++) {
      user.isWriting = true
      yield* step(turn)
      user.isWriting = false
      yield* Effect.sleep(pauseMillis)
    }
  }).pipe(
    Effect.catchAllCause((cause) => Effect.sync(() => user.wrong.push(`the user stopped: ${cause}`))),
    Effect.ensuring(Effect.sync(() => (user.isWriting = false)))
  )

/** Repeats a statement of the test until its node answers. */
export const patiently = <A, E, R>(statement: Effect.Effect<A, E, R>) =>
  statement.pipe(
    Effect.sandbox,
    Effect.retry(Schedule.spaced("500 millis")),
    orHangs(() => "The cluster never answered a statement of the test.")
  )

/** How often each work was done, for all users together. */
export const doneOf = (users: ReadonlyArray<{ readonly done: Readonly<Record<string, number>> }>) => {
  const sums: Record<string, number> = {}
  for (const { done } of users) for (const [work, count] of Object.entries(done)) sums[work] = (sums[work] ?? 0) + count
  return sums
}
