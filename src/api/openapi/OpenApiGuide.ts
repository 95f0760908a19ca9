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

/** What a reader of the document should know before the first request, in Markdown. */
export const guide = `
A catalog of products, variants, collections and media, kept per merchant account and mirrored on linked commerce stores.
Each entity has **canonical** values, which every store inherits, and one **store version** for each store it lives on: the
canonical values with that store's overrides on top. Changes are drafts until they are published. Agents find the same at \`/mcp\`, by
the Model Context Protocol and OAuth 2.1.

## Authentication
Send an API key with every request: \`Authorization: Bearer pk_live_...\`. The account holder makes keys in the API settings
of the account; a key is shown once. A key holds scopes: \`pim:read\` opens every GET, \`pim:write\` the data-health loop.
\`/api/v1/ping\` takes any valid key. No credential can hold \`pim:delete\`. A missing or bad key is 401 with
\`WWW-Authenticate: Bearer\`, a missing scope is 403 and names the scope.

## Walks
Products, variants, collections and media are lists of cursor pages, oldest canonical change first. Ask without \`cursor\`,
then send each \`next_cursor\` back, with the same filters, until it is null. Cursors are opaque, belong to one list with its
filters, and do not expire; \`limit\` may change on the way. A walk brings every entity that matches throughout, and none twice
at the same \`draft_revision\`; one that changes meanwhile comes again at the tail. To follow changes, walk again with
\`updated_since\`. Lists that give a \`next_cursor\` and take no \`cursor\` are whole: it is always null.

## Conditional reads
Every 200 carries an \`ETag\`. Send it as \`If-None-Match\` on the same URL: while nothing changed the answer is 304, without a
body. It spends one request of the budget as any other. \`HEAD\` is answered wherever \`GET\` is, without a body.

## Budgets
A key may send 120 requests a minute, and all keys of an account together 240, unless the operator set other sizes. A window
of 60 seconds opens with its first request. Every answer carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and
\`X-RateLimit-Reset\` (unix seconds); \`X-RateLimit-Scope\` says whether the key or the account is the tighter one. Every answer
to a valid key spends one, 304 and errors too; a refused request spends nothing. On 429 wait \`Retry-After\` seconds.

## Input
A parameter that is blank (\`status=\`) and a member of a body that is null are absent. Parameters that no operation knows are
passed over; one that is given twice is 400.

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

Retry 429 after \`Retry-After\`, 5xx with exponential backoff and jitter, and 423 when the merchant has finished the review.
Do not repeat other requests unchanged: they would be refused again. A path that does not exist is 404 and a method that a path does not
take is 405 with \`Allow\`, with or without a key. Paths match exactly: case, and no slash at the end.

## Versions
Within v1 changes are additive: ignore fields you do not know. A breaking change would be v2.

## Besides
This document is at \`/api/v1/openapi.json\`, a page that shows it at \`/docs\`. \`/healthz\` says whether the process answers,
\`/readyz\` whether it can serve. None of them asks for a key or spends of a budget.
`.trim()
