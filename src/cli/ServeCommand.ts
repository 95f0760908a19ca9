import { Command } from "@effect/cli"
import { HttpServer } from "@effect/platform"
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { ServicesOnDatabase, serverOf } from "../App.ts"
import type { AppConfig } from "../AppConfig.ts"
import { documentationPath } from "../http/Documents.ts"
import { Accounts } from "../services/Accounts.ts"
import { Demo } from "../services/Demo.ts"
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
  address._tag === "TcpAddress"
    ? `http://${address.hostname === "0.0.0.0" ? "localhost" : address.hostname}:${address.port}`
    : address.path

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

const Greeting = (config: AppConfig, key: Option.Option<string>) =>
  Layer.effectDiscard(
    HttpServer.addressWith((address) =>
      Console.log(
        greeting(
          Option.getOrElse(config.baseUrl, () => listeningOn(address)),
          key
        )
      )
    )
  )

const serve = (config: AppConfig) =>
  Effect.gen(function* () {
    const demo = yield* firstStart(config)
    const token = Option.map(demo, ({ key }) => Redacted.value(key.token))
    return yield* Layer.launch(Greeting(config, token).pipe(Layer.provide(serverOf(config))))
  }).pipe(
    Effect.catchTag("ServeError", ({ cause }) =>
      Effect.fail(new Refused({ message: `PORT: cannot listen on ${config.host}:${config.port}: ${reasonOf(cause)}` }))
    ),
    Effect.provide(ServicesOnDatabase)
  )

export const serveCommand = Command.make("serve", {}, () => settled(serve)).pipe(
  Command.withDescription("Serve REST v1 until it is stopped.")
)
