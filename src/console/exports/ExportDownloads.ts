import { HttpServerResponse } from "@effect/platform"
import { Effect, Stream } from "effect"
import { Exports } from "../../exports/Exports.ts"
import type { ExportPart } from "../../exports/Spool.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { pageHeaders } from "../Html.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { makeVisits, type Visits } from "../Visits.ts"

const routes = {
  jsonl: ["GET", paths.exportJsonl, refuseOnPage]
} as const

/** Sends an export as a file while it is read. If reading fails, the connection is cut, so the browser reports a failed download. */
const download = (parts: Stream.Stream<ExportPart, never, CurrentActor>, name: string, contentType: string) =>
  Effect.map(Effect.context<CurrentActor>(), (context) =>
    HttpServerResponse.stream(
      Stream.provideContext(
        Stream.map(parts, ({ bytes }) => bytes),
        context
      ),
      {
        contentType,
        headers: { ...pageHeaders, "content-disposition": `attachment; filename="${name}"` }
      }
    )
  )

/** Downloads of the catalog as files. */
export const exportDownloads: Surface<Exports | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const exports = yield* Exports
    const { asVisitor } = yield* makeVisits
    return {
      jsonl: asVisitor(() => download(exports.jsonl, "catalog.jsonl", "application/jsonl; charset=utf-8"))
    }
  })
)
