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
    layer: onRepositories.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provide(layer), Layer.orDie)
  }))
]

/** All services on each of the three implementations of the repositories. Contract suites run on all of them. */
export const serviceEngines = servicesOn(engines)

/** The same without the embedded engine, for suites whose statements other suites run there (`featureEngines`). */
export const featureServiceEngines = servicesOn(featureEngines)
