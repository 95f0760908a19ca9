import { Duration, Effect, Layer, Option } from "effect"
import type { AppConfig } from "./AppConfig.ts"
import { lookUpAnswers, watchLookUps } from "./access/LookUpWatch.ts"
import { Mailer } from "./access/Mailer.ts"
import { SecondFactors } from "./access/SecondFactors.ts"
import { SignIns } from "./access/SignIns.ts"
import * as AdminServer from "./admin/AdminServer.ts"
import { RateBudget } from "./budgets/RateBudget.ts"
import { ClientDocuments } from "./connections/ClientDocuments.ts"
import { Registrations } from "./connections/Registrations.ts"
import { pages } from "./console/Console.ts"
import { DrawnPictures, Pictures } from "./console/pictures/Pictures.ts"
import * as SecurityMails from "./console/SecurityMails.ts"
import { readNodesWithin } from "./database/ClusterNodesRepo.ts"
import * as Database from "./database/Database.ts"
import * as Migrations from "./database/Migrations.ts"
import { drawDemoPicture } from "./demo/DemoPictures.ts"
import { AccountEvents, type EventTimes } from "./events/AccountEvents.ts"
import { BaseUrl } from "./http/BaseUrl.ts"
import { Readiness } from "./http/Health.ts"
import * as Http from "./http/Http.ts"
import { RequestDeadlines } from "./http/RequestDeadlines.ts"
import { combine, type Surface } from "./http/Surface.ts"
import { makeMcpSurface } from "./mcp/McpGate.ts"
import { authorizationServer } from "./oauth/AuthorizationServer.tsx"

/**
 * The checks of readiness: API keys can be looked up, as every request needs it, and the database has this version's schema. One
 * after the other, so that one open connection is enough: a server with a full disk may refuse new ones, but still answers reads.
 */
const isServing = Effect.all([lookUpAnswers, Migrations.current], { discard: true })

/** Reads the nodes of the cluster by a new connection. */
export const readNodesOf = ({ databaseUrl, deadlines, pooler }: AppConfig) =>
  Option.match(databaseUrl, {
    onNone: () => Effect.succeed([]),
    onSome: (url) => {
      const background = Math.min(deadlines.background, deadlines.node + 1_000)
      return readNodesWithin(deadlines.node).pipe(
        Effect.provide(
          Database.layerServer({
            url,
            pooler,
            maxConnections: 1,
            poolName: "node-checks",
            deadlines: { ...deadlines, background }
          })
        )
      )
    }
  })

/** Request budgets, in Redis if REDIS_URL is set, else in this process. */
const budgetOf = ({ budgets: sizes, redisUrl }: AppConfig) =>
  Option.match(redisUrl, {
    onNone: () => RateBudget.layerProcess(sizes),
    onSome: (url) => RateBudget.layerRedis({ url, sizes })
  })

/** The surfaces other than the REST API: the pages, the authorization server, and the connector for agents. */
export const surfaceOf = (
  config: Pick<
    AppConfig,
    | "allowedOrigins"
    | "baseUrl"
    | "clientMetadataHosts"
    | "eventBounds"
    | "mail"
    | "registrationsPerHour"
    | "signInFailuresPerAddress"
    | "trustedProxies"
  > & { readonly eventTimes?: EventTimes }
) =>
  Effect.map(makeMcpSurface({ allowedOrigins: config.allowedOrigins }), (connector) => {
    const { layer, refuseAddress, routes } = combine(combine(pages(config), authorizationServer(config)), connector)
    return {
      routes,
      refuseAddress,
      layer: layer.pipe(
        Layer.merge(SecurityMails.layer),
        Layer.provide(Pictures.layer.pipe(Layer.provide(Layer.succeed(DrawnPictures, drawDemoPicture)))),
        Layer.provide(ClientDocuments.layer(config.clientMetadataHosts)),
        Layer.provide(Registrations.layer({ perHour: config.registrationsPerHour })),
        Layer.provide(Mailer.layer(config.mail)),
        Layer.provide(SecondFactors.layer),
        Layer.provide(SignIns.layer({ failuresPerAddress: config.signInFailuresPerAddress })),
        Layer.provide(AccountEvents.layer(config.eventBounds, config.eventTimes)),
        Layer.provide(BaseUrl.layer(config.baseUrl))
      )
    } satisfies Surface<unknown>
  })

/** The HTTP server with the API and all surfaces. */
export const serverOf = (config: AppConfig) =>
  Layer.unwrapEffect(
    Effect.map(surfaceOf(config), (surface) =>
      Http.layer({
        host: config.host,
        port: config.port,
        // Behind a proxy, all connections come from the proxy's address.
        bounds: {
          ...config.bounds,
          ...(config.trustedProxies > 0 && { connectionsPerAddress: Number.POSITIVE_INFINITY })
        },
        patience: { ...Http.defaultPatience, delay: Duration.seconds(config.drainDelaySeconds) },
        surface,
        trustedProxies: config.trustedProxies,
        ...(config.accessLog === "json" && { writeAccessLog: (lines: string) => process.stderr.write(lines) })
      })
    )
  ).pipe(
    Layer.provide(Readiness.layer(isServing)),
    Layer.provide(budgetOf(config)),
    Layer.provide(Layer.succeed(RequestDeadlines, config.requestBounds))
  )

/** Whether a new connection, outside of all pools, to the PostgreSQL server works. Always false for the embedded database. */
const connectsAfresh = ({ databaseUrl }: AppConfig) =>
  Option.match(databaseUrl, { onNone: () => Effect.succeed(false), onSome: Database.connectsAfresh })

/** Fails when this process should be restarted. */
export const watchOf = (config: AppConfig) =>
  watchLookUps({ patience: config.lookUpPatience, connects: connectsAfresh(config) })

/**
 * Accepts commands of other processes while this one holds the embedded database. With DATABASE_URL it accepts none, because each
 * command connects to the server itself.
 */
export const adminServerOf = (config: AppConfig) =>
  Option.isSome(config.databaseUrl) ? Layer.empty : AdminServer.layer(config.dataDirectory)
