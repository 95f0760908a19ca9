import { errorCodes } from "../ErrorCodes.ts"
import { envelopeOf } from "../ErrorEnvelope.ts"
import { errorExamples, requestIdExample } from "./OpenApiExamples.ts"

const errorTable = Object.values(errorExamples)
  .map((error) => {
    const { code, status } = errorCodes[error._tag]
    return `| ${status} | \`${code}\` | ${error.message} |`
  })
  .join("\n")

const envelope = JSON.stringify(envelopeOf(errorExamples.NotFound, requestIdExample), null, 2)

/** The introduction of the document, in Markdown. */
export const guide = `
A catalog of products, variants, collections and media, kept per merchant account and published to linked stores.
Each entity has **canonical** values, which every store inherits, and one **store version** per store: the canonical values
with that store's overrides. Changes are drafts until they are published. Agents use the same catalog at \`/mcp\`, by the Model
Context Protocol and OAuth 2.1.

## Authentication
Send an API key with every request: \`Authorization: Bearer pk_live_...\`. The account holder creates keys in the API settings
of the account; a key is shown once. A key has scopes: \`pim:read\` for every GET, \`pim:write\` for scans and repairs of data
health. \`/api/v1/ping\` needs no scope. No credential can have \`pim:delete\`. A missing or bad key is 401 with
\`WWW-Authenticate: Bearer\`, a missing scope is 403 and names the scope.

## Walks
Products, variants, collections and media are lists of cursor pages, oldest canonical change first. Begin without \`cursor\`,
then send each \`next_cursor\` back, with the same filters, until it is null: this is a walk. Cursors are opaque, belong to one list
with its filters, and do not expire; \`limit\` may change between pages. A walk returns every entity that matches throughout, and none twice
at the same \`draft_revision\`; an entity that changes during the walk is returned again at its end. To follow changes, walk
again with \`updated_since\`. Lists without a \`cursor\` parameter are complete: their \`next_cursor\` is always null.

## Conditional reads
Every 200 has an \`ETag\`. Send it as \`If-None-Match\` on the same URL: if nothing changed, the response is 304 without a body. It
counts as one request of the budget. \`HEAD\` works wherever \`GET\` does.

## Compression
A 200 of more than 1 KiB is compressed if \`Accept-Encoding\` names \`br\` or \`gzip\`. Its \`ETag\` is then weak: \`W/\` and the tag of the
uncompressed body. Either form in \`If-None-Match\` gives 304, with or without compression. Errors are never compressed.

## Budgets
A key may send 120 requests a minute, and all keys of an account together 240, unless the operator set other sizes. A window
of 60 seconds opens with its first request. Every response has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and
\`X-RateLimit-Reset\` (unix seconds); \`X-RateLimit-Scope\` is the budget with less left. Every response to a valid key counts, also
304 and errors; a 429 does not, nor does a request that is refused before its key is read (408, 414, 417, 431, and a query that is not
percent-encoded UTF-8). After a 429 wait \`Retry-After\` seconds.

## Input
A blank parameter (\`status=\`) and a null member of a body count as omitted. Unknown parameters are ignored; a parameter that is
given twice is 400.

## Errors
Every error has this body, and \`request_id\` equals the header \`X-Request-Id\`. Errors about a place in the input add
\`details\`.

\`\`\`json
${envelope}
\`\`\`

The codes are a closed list. Act on \`code\`, never on the message.

| Status | \`code\` | A message |
|---|---|---|
${errorTable}

Retry 429 after \`Retry-After\`, 5xx with exponential backoff and jitter, and 423 after the import or refresh has ended.
Do not repeat other requests unchanged: they would be refused again. An unknown path is 404, and a wrong method is 405 with
\`Allow\`, both with or without a key. Paths are case-sensitive and have no slash at the end.

## Versions
Within v1 changes are additive: ignore fields you do not know. A breaking change would be v2.

## Other paths
This document is at \`/api/v1/openapi.json\`, a page that shows it at \`/docs\`. \`/healthz\` tells whether the process answers,
\`/readyz\` whether the service is ready. They need no key and use no budget.
`.trim()
