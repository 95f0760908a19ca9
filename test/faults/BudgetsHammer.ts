import { Array as Arr, Effect } from "effect"
import { Agent, request } from "undici"
import { Dice, report } from "./Dice.ts"

const clients = 64

interface Answer {
  readonly server: string
  readonly token: string
  readonly status: number
  readonly reset: string
  readonly remaining: string
}

/**
 * 64 clients, each with its own open connection, send their requests as fast as they are answered. The clients are
 * spread over the servers.
 */
export const hammer = (
  name: string,
  servers: Arr.NonEmptyReadonlyArray<string>,
  requestsEach: number,
  tokenFor: (dice: Dice) => string
) =>
  Effect.gen(function* () {
    const agents = yield* Effect.acquireRelease(
      Effect.sync(() => Array.from({ length: clients }, () => new Agent({ connections: 1, pipelining: 1 }))),
      (open) => Effect.promise(() => Promise.all(open.map((agent) => agent.destroy())))
    )
    const send = (dispatcher: Agent, server: string, token: string) =>
      Effect.promise(async (): Promise<Answer> => {
        const { body, headers, statusCode } = await request(`${server}/api/v1/ping`, {
          dispatcher,
          headers: { authorization: `Bearer ${token}` }
        })
        await body.dump()
        const header = (of: string) => String(headers[of])
        return {
          server,
          token,
          status: statusCode,
          reset: header("x-ratelimit-reset"),
          remaining: header("x-ratelimit-remaining")
        }
      })
    const answers = yield* Effect.forEach(
      agents,
      (agent, client) => {
        const dice = new Dice(`${name}, client ${client}`)
        const server = servers[client % servers.length] ?? servers[0]
        return Effect.replicateEffect(
          Effect.suspend(() => send(agent, server, tokenFor(dice))),
          requestsEach
        )
      },
      { concurrency: "unbounded" }
    )
    const all = answers.flat()
    const byStatus = Object.fromEntries(
      Object.entries(Arr.groupBy(all, ({ status }) => String(status))).map(([status, found]) => [status, found.length])
    )
    const admitted = all.filter(({ status }) => status !== 429)
    const resets = [...new Set(all.map(({ reset }) => reset))]
    const answeredBy = servers.map((server) => all.filter((answer) => answer.server === server).length)
    report(name, { requests: all.length, byStatus, resets, answeredBy })
    return { all, admitted, answeredBy, byStatus, resets }
  })
