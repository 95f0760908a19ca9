import { Layer } from "effect"
import { Imports } from "../../src/services/Imports.ts"
import { TestServices } from "../../src/testing/index.ts"

/** What the commands need, on memory: imports are staged in a database, and are not there. */
export const AdminServices = Layer.merge(TestServices, Layer.mock(Imports, {}))
