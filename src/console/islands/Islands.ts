import type { Sentence, Values } from "../languages/Words.tsx"
import { SelectAll, selectAllSentences } from "./SelectAll.tsx"

/** The translator of an island. It knows only the sentences that the page sends with the island. */
export type IslandWords<Of extends Sentence> = (sentence: Of, values?: Values) => string

/** The components that browsers run too, each with the sentences that it says. */
export const islands = { SelectAll: { Component: SelectAll, sentences: selectAllSentences } } as const
