import { Duration, Effect, Option, Schema } from "effect"
import { DataHealth } from "../health/DataHealth.ts"
import { type HealthDimension, HealthOverview, HealthSnapshot } from "../health/Health.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { NotFound } from "../model/Errors.ts"
import type { StoreId } from "../model/Ids.ts"
import { HealthRpcs, type ScanEvent } from "./AdminRpcs.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { makeFindStore, unknownStore } from "./FindByName.ts"

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))
const decodeSnapshot = Schema.decode(Schema.parseJson(HealthSnapshot))

/** Interval between two reports of a scan's progress. */
const reportInterval = Duration.millis(500)

export const HealthHandlers = HealthRpcs.toLayer(
  Effect.gen(function* () {
    const health = yield* DataHealth
    const findStore = yield* makeFindStore

    const storeId = (named: Option.Option<string>) =>
      Effect.map(Effect.transposeMapOption(named, findStore), (store) => Option.getOrUndefined(store)?.id)

    /** Runs a request for the typed store, if any. NotFound becomes a refusal, because the store was unlinked after the look-up. */
    const aboutStore = <A, E>(
      named: Option.Option<string>,
      run: (id: StoreId | undefined) => Effect.Effect<A, NotFound | E, CurrentActor>
    ) =>
      Effect.flatMap(storeId(named), (id) =>
        Effect.catchIf(
          run(id),
          (error): error is NotFound => error instanceof NotFound,
          () => unknownStore(Option.getOrElse(named, () => "of these"))
        )
      )

    /** Reports the progress of a scan until this effect is interrupted. Another caller or process may work on the scan. */
    const watch = (dimension: HealthDimension, storeId: StoreId | undefined, report: Report<ScanEvent>) =>
      health.progress(dimension, storeId).pipe(
        Effect.flatMap(
          Option.match({
            onNone: () => Effect.void,
            onSome: ({ entities, scanned }) => report({ _tag: "Progress", done: scanned, total: entities })
          })
        ),
        Effect.delay(reportInterval),
        Effect.forever
      )

    return {
      showHealth: ({ store }) =>
        aboutStore(store, health.overview).pipe(Effect.flatMap(({ text }) => Effect.orDie(decodeOverview(text)))),
      scanHealth: ({ dimension, store }) =>
        streamEvents((report: Report<ScanEvent>) =>
          aboutStore(store, (id) => Effect.raceFirst(health.scan(dimension, id), watch(dimension, id, report))).pipe(
            Effect.flatMap(({ text }) => Effect.orDie(decodeSnapshot(text))),
            Effect.map((snapshot): ScanEvent => ({ _tag: "Done", snapshot }))
          )
        ),
      listHealthIssues: ({ locale, page, pageSize, section, store }) =>
        aboutStore(store, (id) =>
          health.issues({
            section,
            page: Math.max(page, 1),
            page_size: Math.min(Math.max(pageSize, 1), 100),
            store_id: id,
            locale: Option.getOrUndefined(locale)
          })
        ),
      showHealthRules: () => health.rules,
      setHealthRules: ({ rules }) => health.setRules(rules),
      changeHealthChecks: ({ divergence, structure }) => health.changeChecks({ divergence, structure }),
      changeHealthRules: ({ kind, levels }) => health.changeRules(kind, levels)
    }
  })
)
