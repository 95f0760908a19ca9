import type { DerivedTool } from "./Tools.ts"
import { isObject } from "./Vocabulary.ts"

/** The number of requests that a call takes from the budget. An empty or too long list costs one: the schema refuses it later. */
export const costOf = ({ input, tool }: DerivedTool, message: unknown): number => {
  const name = tool.costsPerItemOf
  if (name === undefined || !isObject(message) || !isObject(message.params)) return 1
  const { arguments: args } = message.params
  const items = isObject(args) ? args[name] : undefined
  const maxItems = Number((input.properties[name] as { readonly maxItems?: number } | undefined)?.maxItems)
  return Array.isArray(items) && items.length > 0 && items.length <= maxItems ? items.length : 1
}
