import { Layer } from "effect"
import { RepositoriesOnDatabase, Services } from "../../src/App.ts"
import { RateBudget } from "../../src/services/RateBudget.ts"
import { TestServices } from "../../src/testing/index.ts"
import { engines } from "./TestDatabase.ts"

const onRepositories = Layer.merge(Services, RateBudget.layerProcess({ perKey: 120, perAccount: 240 }))

/** All services on each of the three implementations of the repositories: a suite that runs on all is their contract. */
export const serviceEngines = [
  { name: "memory", absent: false, layer: TestServices },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: onRepositories.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provide(layer), Layer.orDie)
  }))
] as const
