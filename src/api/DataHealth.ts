import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { HealthDimension, HealthSection, HealthSnapshot } from "../health/Health.ts"
import { maxOperations } from "../health/RemediationRules.ts"
import { EntityKind } from "../model/Attribute.ts"
import { inAnyCase, StoreId } from "../model/Ids.ts"
import {
  FillOperation,
  FillResult,
  HealthIssuePage,
  HealthOverview,
  ReconcileOperation,
  ReconcileResult,
  SnapshotInConnector
} from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { BodyLimit } from "./BodyLimit.ts"
import {
  ForbiddenWire,
  NotFoundWire,
  PayloadTooLargeWire,
  PimLockedWire,
  UnsupportedMediaTypeWire
} from "./ErrorEnvelope.ts"
import { FieldParam, LocaleParam, oneOf, pageParams, storeIdParam } from "./Params.ts"
import { TimeBound } from "./TimeBound.ts"
import { membersInConnector, readOnly, Tool, type ToolHints } from "./Tool.ts"

const remedy: ToolHints = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** Maximum bytes of a batch: 2 MiB, enough for 500 operations with a product description each. */
const batchLimitBytes = 2_097_152

export const HealthParams = Schema.Struct({
  store_id: storeIdParam(
    "For sync, completeness and translations, returns this store's snapshots. The other dimensions exist per account only."
  )
})

export const IssuesParams = Schema.Struct({
  section: oneOf(HealthSection.literals, "The list to read."),
  ...pageParams,
  store_id: storeIdParam("Only issues on this store."),
  locale: LocaleParam,
  field: FieldParam
})

export const ScanRequest = Schema.Struct({
  dimension: oneOf(HealthDimension.literals, "The dimension to scan."),
  store_id: Schema.optionalWith(inAnyCase(StoreId), { exact: true }).annotations({
    description:
      "Scans only this store (sync, completeness, translations). The other dimensions are always scanned for the whole account."
  })
})
  .annotations({ identifier: "ScanRequest" })
  .pipe(membersInConnector({ store_id: "channel_id" }))

const batchOf = <A, I>(operation: Schema.Schema<A, I>) => ({
  entity_type: oneOf(
    EntityKind.literals,
    "The kind of all entities in the batch. An entity of another kind is not found."
  ),
  operations: Schema.Array(operation)
    .pipe(Schema.maxItems(maxOperations, { message: () => `must be at most ${maxOperations} operations` }))
    .annotations({ description: `At most ${maxOperations}, applied in order.` })
})

const FillBatch = Schema.Struct(batchOf(FillOperation))
  .annotations({ identifier: "FillBatch" })
  .pipe(membersInConnector({ entity_type: "master_type" }))
const ReconcileBatch = Schema.Struct(batchOf(ReconcileOperation))
  .annotations({ identifier: "ReconcileBatch" })
  .pipe(membersInConnector({ entity_type: "master_type" }))

const FillOutcome = Schema.Struct({
  filled: Schema.Int.annotations({ description: "Number of written fields." }),
  results: Schema.Array(FillResult).annotations({ description: "`results[i]` answers `operations[i]`." })
}).annotations({ identifier: "FillOutcome" })

const ReconcileOutcome = Schema.Struct({
  patched: Schema.Int.annotations({ description: "Number of written store versions." }),
  results: Schema.Array(ReconcileResult).annotations({ description: "`results[i]` answers `operations[i]`." })
}).annotations({ identifier: "ReconcileOutcome" })

const batch =
  "A 200 means that the batch ran: `results` has the outcome of each operation. The batch is one transaction that checks each operation again before it writes. It writes drafts: nothing reaches a store before a publish. A body has at most 2 MiB. 423 while an import or refresh locks the catalog."

/** Data health: endpoints to scan, to read scores and issues, and to repair. */
export class DataHealthGroup extends HttpApiGroup.make("dataHealth")
  .add(
    HttpApiEndpoint.get("getDataHealth", "/data-health")
      .setUrlParams(HealthParams)
      .addSuccess(HealthOverview)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get the state of every dimension")
      .annotate(
        OpenApi.Description,
        "The last snapshot of each dimension, always in the same order. It never scans. An unknown `store_id` is 404."
      )
      .annotate(Tool, {
        name: "get_data_health_v1",
        title: "Get data health",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Data health in numbers: for each of six dimensions (sync, completeness, media, structure, divergence, translations) the last scan's result.",
          usage:
            "Use it for an overview; use list_data_health_issues_v1 for the masters that a number counts, run_data_health_scan_v1 for fresh numbers.",
          ids: "get_master_v1 gives channel_id, which is optional.",
          never:
            "It never scans: a dimension that was never scanned has `scanned: false`. It never changes anything. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "bounded", rows: ["dimensions"], keys: ["dimension"], limited: false }
      })
      .annotate(RequiredScope, "pim:read")
  )
  .add(
    HttpApiEndpoint.post("runDataHealthScan", "/data-health/scans")
      .setPayload(ScanRequest)
      .addSuccess(HealthSnapshot)
      .addError(NotFoundWire)
      .addError(PayloadTooLargeWire)
      .addError(UnsupportedMediaTypeWire)
      .annotate(OpenApi.Summary, "Scan a dimension")
      .annotate(
        OpenApi.Description,
        "Scans one dimension, saves its numbers and issues, and returns the snapshot. It does not change the catalog. Requests that arrive while a scan runs share the next scan. An unknown `store_id` is 404."
      )
      .annotate(Tool, {
        name: "run_data_health_scan_v1",
        title: "Run a data health scan",
        tier: "pim:write",
        hints: remedy,
        description: {
          does: "Scans one dimension of data health, saves its numbers and issues, and returns the new snapshot.",
          usage:
            "Use it after changes, or for a dimension that was never scanned; use get_data_health_v1 to read the last result, which is quicker.",
          ids: "get_master_v1 gives channel_id, which is optional and narrows sync, completeness and translations.",
          never:
            "It never changes masters or stores, and never repairs: fill_completeness_gaps_v1 and reconcile_value_divergence_v1 do. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "record", shape: SnapshotInConnector }
      })
      .annotate(RequiredScope, "pim:write")
      .annotate(TimeBound, "scan")
  )
  .add(
    HttpApiEndpoint.get("listDataHealthIssues", "/data-health/issues")
      .setUrlParams(IssuesParams)
      .addSuccess(HealthIssuePage)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List issues")
      .annotate(
        OpenApi.Description,
        "A page of one section, as of its last scan: one row per entity and store, and per language in the translation sections. Rows of variants include SKU and product; rows of a duplicate SKU also list the other variants with it. It never scans. An unknown `store_id` is 404; a `locale` that no store has, and a `field` that no row can have, are 400."
      )
      .annotate(Tool, {
        name: "list_data_health_issues_v1",
        title: "List data health issues",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Issues of one section of data health, by page: the masters and channels concerned and the names of their fields.",
          usage:
            "Use it for the issues that get_data_health_v1 counts; use run_data_health_scan_v1 first if nothing was scanned.",
          ids: "get_master_v1 gives channel_id, which is optional; rows give master_id.",
          never:
            "It never scans. Only divergence rows have values, cut at 60 characters; get_projection_v1 returns whole values. A row lists at most 40 fields; `field` selects one. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "pages", rows: ["data"], keys: ["master_id", "channel_id"], fields: "members" }
      })
      .annotate(RequiredScope, "pim:read")
  )
  .add(
    HttpApiEndpoint.post("fillCompletenessGaps", "/data-health/completeness-fills")
      .setPayload(FillBatch)
      .addSuccess(FillOutcome)
      .addError(PimLockedWire)
      .addError(PayloadTooLargeWire)
      .addError(UnsupportedMediaTypeWire)
      .annotate(OpenApi.Summary, "Fill empty fields")
      .annotate(
        OpenApi.Description,
        `Writes drafts for empty fields: the override of the operation's store or, without \`store_id\`, the canonical value, which stores without an override inherit. A field that is no longer empty is skipped: \`ok\` true, \`filled\` false. ${batch}`
      )
      .annotate(Tool, {
        name: "fill_completeness_gaps_v1",
        title: "Fill completeness gaps",
        tier: "pim:write",
        hints: remedy,
        description: {
          does: "Fills empty fields of up to 500 masters, as drafts, and returns one result per operation. Without channel_id it fills the master, from which all channels inherit.",
          usage:
            "Use it for gaps that list_data_health_issues_v1 lists; use update_projection_attributes_v1 to overwrite a value.",
          ids: "list_data_health_issues_v1 gives master_id, channel_id and fields.",
          never:
            "It never overwrites a filled field. It never publishes: use publish_master_v1. Channels are linked stores."
        },
        answer: { kind: "batch" }
      })
      .annotate(RequiredScope, "pim:write")
      .annotate(BodyLimit, batchLimitBytes)
      .annotate(TimeBound, "batch")
  )
  .add(
    HttpApiEndpoint.post("reconcileValueDivergence", "/data-health/divergence-reconciles")
      .setPayload(ReconcileBatch)
      .addSuccess(ReconcileOutcome)
      .addError(PimLockedWire)
      .addError(PayloadTooLargeWire)
      .addError(UnsupportedMediaTypeWire)
      .annotate(OpenApi.Summary, "Make fields equal across stores")
      .annotate(
        OpenApi.Description,
        `Writes drafts so that an entity's stores agree on a field: the others take the winner store's value, or a given value. Texts are compared among stores of one language and prices among stores of one currency, unless the account's rules say otherwise; a winner's value goes to its own group only. A value without \`store_id\` fails as \`validation_failed\` if the stores disagree in more than one language or currency. Stores that already match, and fields without disagreement, stay unchanged. ${batch}`
      )
      .annotate(Tool, {
        name: "reconcile_value_divergence_v1",
        title: "Reconcile diverging values",
        tier: "pim:write",
        hints: { ...remedy, destructiveHint: true },
        description: {
          does: "Makes fields of up to 500 masters equal across channels, as drafts: channels that disagree get one channel's value or a given value, texts within one language, prices within one currency.",
          usage:
            "Use it for the issues of section divergence in list_data_health_issues_v1; use update_master_attributes_v1 to change the value that channels inherit.",
          ids: "list_data_health_issues_v1 gives master_id and channel_id; winner_channel_id is one of these channels.",
          never:
            "It never touches channels that agree. It never publishes: use publish_master_v1. Channels are linked stores."
        },
        answer: { kind: "batch" }
      })
      .annotate(RequiredScope, "pim:write")
      .annotate(BodyLimit, batchLimitBytes)
      .annotate(TimeBound, "batch")
  )
  .add(
    HttpApiEndpoint.post("deleteUnused", "/data-health/unused-deletions")
      .annotate(OpenApi.Summary, "Delete unused entities (reserved)")
      .annotate(
        OpenApi.Description,
        "Reserved. Requires the scope pim:delete, which no credential can hold: every key gets 403, and the body is not read."
      )
      .annotate(RequiredScope, "pim:delete")
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotate(OpenApi.Title, "Data health")
  .annotate(
    OpenApi.Description,
    "The quality of the catalog: scan it, list issues, repair hundreds of them at once as drafts."
  ) {}
