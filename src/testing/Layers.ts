import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { Services } from "../App.ts"
import { AccessRepo } from "../access/AccessRepo.ts"
import { type BudgetSizes, RateBudget } from "../budgets/RateBudget.ts"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { layerDemoPlatforms } from "../demo/DemoPlatform.ts"
import { DemoShops } from "../demo/DemoShops.ts"
import { DefinitionsRepo } from "../drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { DropsRepo } from "../drops/DropsRepo.ts"
import { HealthRepo } from "../health/HealthRepo.ts"
import { Readiness } from "../http/Health.ts"
import { HttpLive } from "../http/Http.ts"
import { PublicationsRepo } from "../publishing/PublicationsRepo.ts"
import { MirrorRepo } from "../storedata/MirrorRepo.ts"
import { OperationsRepo } from "../storedata/OperationsRepo.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { MemoryStore } from "./MemoryStore.ts"
import { layerMemoryTransaction } from "./MemoryTransaction.ts"

/**
 * The memory twins of all repositories, over one store that is empty at first, and platforms of which none is outside
 * the process. They pass the suite of the SQL ones.
 */
export const MemoryRepositories = Layer.mergeAll(
  AccessRepo.layerMemory,
  CatalogRepo.layerMemory,
  DefinitionsRepo.layerMemory,
  layerDemoPlatforms.pipe(Layer.provideMerge(DemoShops.layerMemory)),
  DraftsRepo.layerMemory,
  DropsRepo.layerMemory,
  HealthRepo.layerMemory,
  DropsRepo.layerMemory,
  HistoryRepo.layerMemory,
  ImportLockRepo.layerMemory,
  PublicationsRepo.layerMemory,
  MirrorRepo.layerMemory,
  OperationsRepo.layerMemory,
  StoresRepo.layerMemory,
  layerMemoryTransaction
).pipe(Layer.provideMerge(MemoryStore.layer))

const usual: BudgetSizes = { perKey: 120, perAccount: 240 }

/** Every service on the memory twins; with other request budgets where a test needs them. */
export const testServices = (budgets: BudgetSizes) =>
  Layer.merge(Services, RateBudget.layerProcess(budgets)).pipe(Layer.provideMerge(MemoryRepositories))

/** Every service on the memory twins, with budgets of 120 requests a key and 240 an account. */
export const TestServices = testServices(usual)

/** `testServices` behind the real REST surface, on a free port; the HttpClient in it knows the address. */
export const testServer = (budgets: BudgetSizes) =>
  HttpLive.pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provideMerge(testServices(budgets)),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

/** `testServer` with budgets of 120 requests a key and 240 an account. */
export const TestServer = testServer(usual)
