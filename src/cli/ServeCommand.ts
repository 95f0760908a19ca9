import { Command } from "@effect/cli"
import { HttpServer } from "@effect/platform"
import { Console, Effect, Layer, Option, Predicate, Redacted } from "effect"
import { adminServerOf, ServicesOnDatabase, serverOf } from "../App.ts"
import type { AppConfig } from "../AppConfig.ts"
import { documentationPath } from "../http/Documents.ts"
import { Accounts } from "../services/Accounts.ts"
import { Demo } from "../services/Demo.ts"
import * as Sweeper from "../services/Sweeper.ts"
import { Refused, reasonOf } from "./Output.ts"
import { settled } from "./Running.ts"

/** An empty embedded database gets the demo; a server's belongs to somebody, who asks for it. */
const firstStart = (config: AppConfig) =>
  Effect.gen(function* () {
    const accounts = yield* (yield* Accounts).list
    if (accounts.length > 0 || Option.isSome(config.databaseUrl)) return Option.none()
    yield* Effect.logInfo("The database is empty: making the demo account")
    return Option.some(yield* (yield* Demo).create)
  })

const listeningOn = (address: HttpServer.Address) =>
  address._tag === "TcpAddress" ? `http://${hostOf(address.hostname)}:${address.port}` : address.path

/** A host as an address names it: every interface is reached by localhost, IPv6 stands in brackets. */
const hostOf = (hostname: string) =>
  hostname === "0.0.0.0" || hostname === "::" ? "localhost" : hostname.includes(":") ? `[${hostname}]` : hostname

const greeting = (baseUrl: string, key: Option.Option<string>) =>
  [
    `The catalog is served at ${baseUrl}`,
    `Documentation:           ${baseUrl}${documentationPath}`,
    ...Option.match(key, {
      onNone: () => ["API keys:                npm run catalog -- key create --name NAME --scopes pim:read,pim:write"],
      onSome: (token) => [
        `Demo key (shown once):   ${token}`,
        `Try:                     curl -H "Authorization: Bearer ${token}" "${baseUrl}/api/v1/products?limit=3"`
      ]
    })
  ].join("\n")

/** After the address is bound: a start that fails must not have shown, and lost, the only key. */
const Greeting = (config: AppConfig) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const demo = yield* firstStart(config)
      yield* Console.log(
        greeting(
          Option.getOrElse(config.baseUrl, () => listeningOn(address)),
          Option.map(demo, ({ key }) => Redacted.value(key.token))
        )
      )
    })
  )

const inUse: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"])

/** Which setting is at fault when the address cannot be bound. */
const cannotListen = ({ host, port }: AppConfig, cause: unknown) => {
  const isPort = Predicate.hasProperty(cause, "code") && inUse.has(cause.code)
  return new Refused({ message: `${isPort ? "PORT" : "HOST"}: cannot listen on ${host}:${port}: ${reasonOf(cause)}` })
}

const serve = (config: AppConfig) =>
  Layer.launch(Layer.merge(Greeting(config), Sweeper.layer).pipe(Layer.provide(serverOf(config)))).pipe(
    Effect.catchTag("ServeError", ({ cause }) => Effect.fail(cannotListen(config, cause))),
    Effect.provide(Layer.provideMerge(adminServerOf(config), ServicesOnDatabase))
  )

export const serveCommand = Command.make("serve", {}, () => settled(serve)).pipe(
  Command.withDescription("Serve REST v1 until it is stopped.")
)
