import { Layer } from "effect"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { TestServices } from "../../src/testing/index.ts"
import { engines, featureEngines } from "./TestDatabase.ts"

const onRepositories = Layer.merge(Services, RateBudget.layerProcess({ perKey: 120, perAccount: 240 }))

type Provided<L extends Layer.Layer.Any> = Layer.Layer.Success<L>

interface Engine {
  readonly name: string
  readonly absent: boolean
  /** The services, and the repositories that all implementations have. */
  readonly layer: Layer.Layer<
    Extract<Provided<typeof TestServices>, Provided<typeof onRepositories> | Provided<typeof RepositoriesOnDatabase>>
  >
}

const servicesOn = (databases: typeof engines): ReadonlyArray<Engine> => [
  { name: "memory", absent: false, layer: TestServices },
  ...databases.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: onRepositories.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(layer), Layer.orDie)
  }))
]

/**
 * All services on each of the three implementations of the repositories, for the suites that run on the embedded engine in the usual run
 * too. They were chosen by a record of the statements that 26 suites ran there (2026-11-23): these run all but 14 of 1,706.
 * - The contract suites `Access`, `BulkChanges`, `Catalog`, `ChangeFeed`, `IncludedRows`, `Jobs`, `Masters`, `StoreData`, `Stores`
 *   and `Undo`; and, with `engines`, `Credentials`, `Drops`, `ImportLists`, `SecretRotation`, `SideBySide`, `health/AutomaticScans` and
 *   `health/Trend`.
 * - All of `test/database`, and the suites of events, imports, orders of lists, tokens and waiting work, because one connection is special.
 */
export const serviceEngines = servicesOn(engines)

/**
 * The same without the embedded engine, for suites whose repositories others use there (`featureEngines`). `contract/Publishing`,
 * `Drafts`, `KeyRules`, `Remediation` and `demo/DemoCatalog` took about 45 s of processor time there (load 12), for 14 of 1,706 statements.
 */
export const featureServiceEngines = servicesOn(featureEngines)
