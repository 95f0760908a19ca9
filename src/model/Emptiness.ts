/**
 * White space: the characters of `\s` in JavaScript, and NEXT LINE (U+0085). The database has the same list
 * (`migrations/0010_health.sql`); a test checks that both agree.
 */
const blanks = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"

const onlyBlanks = new RegExp(`^[${blanks}]*$`)

const image = /<img[\t\n\f\r />]/i
// A tag contains no `<`, so that matching takes linear time even for a long run of `<`.
const tags = /<[^<>]*>/g
const blankEntities = /&(?:nbsp|#160|#xa0);/gi

/** A list without items, as JSON. The scans have it as SQL (`health/scans/CompletenessScans.ts`). */
export const emptyList = "^[ \\t\\n\\r]*\\[[ \\t\\n\\r]*\\][ \\t\\n\\r]*$"

const noItems = new RegExp(emptyList)

/**
 * Whether a value has no content: only white space or, for HTML, no text and no images, or a list without items. HTML is not rendered,
 * so text in a comment or script counts as text.
 */
export const isEmptyValue = (type: string, value: string): boolean =>
  type === "html"
    ? !image.test(value) && onlyBlanks.test(value.replaceAll(tags, "").replaceAll(blankEntities, " "))
    : onlyBlanks.test(value) || (type.startsWith("list.") && noItems.test(value))
