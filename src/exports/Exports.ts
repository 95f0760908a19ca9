import { Context, Effect, Layer, type Stream } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { ExportsRepo } from "./ExportsRepo.ts"
import { type ExportPart, spooled, type WriteExport } from "./Spool.ts"

/** Exports that one process reads at the same time. Each keeps a connection for as long. */
const maxAtOnce = 2

/** Entities of one statement. */
const linesAtOnce = 500

/** Entities come after those that they consist of. */
const kindsInOrder: ReadonlyArray<EntityKind> = ["media", "variant", "product", "collection"]

/** Writes the catalog of the actor's account as files. An export shows the catalog of one moment. */
export class Exports extends Context.Tag("catalog/Exports")<
  Exports,
  {
    /** All entities with their values, store versions and relationships, as lines of JSON. docs/exports.md has the format. */
    readonly jsonl: Stream.Stream<ExportPart, never, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Exports,
    Effect.gen(function* () {
      const repo = yield* ExportsRepo
      const semaphore = yield* Effect.makeSemaphore(maxAtOnce)

      /** Streams what the reads write. They see the catalog of one moment. */
      const exporting = <E>(reads: (write: WriteExport) => Effect.Effect<unknown, E, CurrentActor>) =>
        spooled((write: WriteExport) => repo.inSnapshot(reads(write)).pipe(asBackground, semaphore.withPermits(1)))

      const writeCatalog = (write: WriteExport) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const { entities: total, line, stores } = yield* repo.head(accountId)
          let done = 0
          yield* write([line, ...stores, ""].join("\n"), done, total)
          for (const kind of kindsInOrder)
            for (let after: number | null = 0; after !== null; ) {
              const { entities, last, lines }: Effect.Effect.Success<ReturnType<typeof repo.lines>> = yield* repo.lines(
                accountId,
                kind,
                after,
                linesAtOnce
              )
              done += entities
              after = last
              if (entities > 0) yield* write(lines, done, total)
            }
          yield* write(`${JSON.stringify({ type: "end", entities: done })}\n`, done, total)
        })

      return { jsonl: exporting(writeCatalog) }
    })
  )
}
