import { Effect, Layer, Redacted } from "effect"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { Users } from "../../src/access/Users.ts"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { TestServices } from "../../src/testing/index.ts"
import { layerEmbedded } from "../support/TestDatabase.ts"

/**
 * The services that the commands need, in memory, and a database that only has its migrations. Staging of imports and users need more
 * of a database, so they are missing.
 */
export const AdminServices = Layer.mergeAll(
  TestServices,
  Layer.orDie(layerEmbedded),
  Layer.mock(Connections, {}),
  Layer.mock(Exports, {}),
  Layer.mock(Imports, {}),
  Layer.mock(MerchantLists, {}),
  Layer.mock(SecondFactorsRepo, {}),
  Layer.mock(Users, {
    invite: (accountId, email) =>
      Effect.succeed({
        accountId,
        email,
        token: Redacted.make("pim_pl_of_a_test"),
        expiresAt: Timestamp.make("2027-01-31T09:30:00.000000Z"),
        language: null,
        timeZone: null,
        isRepeated: false
      })
  })
)
