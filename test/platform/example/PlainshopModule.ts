import { makePlainshop, plainshopAdapter } from "./PlainshopAdapter.ts"

/** The adapter of the guide as a module for PLATFORM_MODULES. Its shops are on the server of PLAINSHOP_ORIGIN. */
export const adapter = { ...plainshopAdapter, make: makePlainshop(() => process.env.PLAINSHOP_ORIGIN ?? "") }
