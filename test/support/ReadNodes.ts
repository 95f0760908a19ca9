import { Effect } from "effect"
import { readNodesWithin } from "../../src/database/ClusterNodesRepo.ts"
import { defaultDeadlines } from "../../src/database/Deadlines.ts"

/** The nodes, and which of them answered within the default time. Each run reads the accounts again. */
export const readNodes = Effect.suspend(() => readNodesWithin(defaultDeadlines.node))
