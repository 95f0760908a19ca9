/**
 * White space: what JavaScript counts as such, and NEXT LINE. The database has the same list
 * (`migrations/0010_data_health.sql`); a test checks that they agree.
 */
const blanks = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"

const onlyBlanks = new RegExp(`^[${blanks}]*$`)

const image = /<img[\t\n\f\r />]/i
// Without `<` inside: however many of them follow one another, each is looked at once.
const tags = /<[^<>]*>/g
const blankEntities = /&(?:nbsp|#160|#xa0);/gi

/**
 * Whether a value says nothing: it is missing or nothing but white space; of HTML, it has neither text nor an image. Not
 * rendered: text in a comment or a script counts as text.
 */
export const isEmptyValue = (type: string, value: string): boolean =>
  type === "html"
    ? !image.test(value) && onlyBlanks.test(value.replaceAll(tags, "").replaceAll(blankEntities, " "))
    : onlyBlanks.test(value)
