import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { Services } from "../App.ts"
import { Readiness } from "../http/Health.ts"
import { HttpLive } from "../http/Http.ts"
import { AccessRepo } from "../repos/AccessRepo.ts"
import { CatalogRepo } from "../repos/CatalogRepo.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { MemoryStore } from "../repos/MemoryStore.ts"
import { layerMemoryTransaction } from "../repos/MemoryTransaction.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { RateBudget } from "../services/RateBudget.ts"

/** The memory twins of all repositories, over one store that is empty at first. They pass the suite of the SQL ones. */
export const MemoryRepositories = Layer.mergeAll(
  AccessRepo.layerMemory,
  CatalogRepo.layerMemory,
  DraftsRepo.layerMemory,
  StoresRepo.layerMemory,
  layerMemoryTransaction
).pipe(Layer.provideMerge(MemoryStore.layer))

/** Every service on the memory twins, with budgets of 120 requests a key and 240 an account. */
export const TestServices = Layer.merge(Services, RateBudget.layerProcess({ perKey: 120, perAccount: 240 })).pipe(
  Layer.provideMerge(MemoryRepositories)
)

/** `TestServices` behind the real REST surface, on a free port; the HttpClient in it knows the address. */
export const TestServer = HttpLive.pipe(
  Layer.provide(Readiness.layer(Effect.void)),
  Layer.provideMerge(TestServices),
  Layer.provideMerge(NodeHttpServer.layerTest)
)
