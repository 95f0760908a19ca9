import { resourceUpTo } from "../connections/AuthorizationRequest.ts"
import { Tier, upTo } from "../connections/Tier.ts"
import { documentationPath } from "../http/Documents.ts"
import { oauthPaths } from "./Paths.ts"

export const scopes: ReadonlyArray<string> = Tier.literals

/**
 * Protected resource metadata (RFC 9728), which leads an agent without a token to the authorization server. `highest`: the tier
 * in the query of the agent's URL. It is part of `resource`, because strict clients compare `resource` with their URL.
 */
export const resourceMetadata = (baseUrl: string, highest: Tier) => ({
  resource: resourceUpTo(baseUrl, highest),
  authorization_servers: [baseUrl],
  scopes_supported: upTo(highest),
  bearer_methods_supported: ["header"],
  resource_name: "Catalog",
  resource_documentation: `${baseUrl}${documentationPath}`
})

/** Authorization server metadata (RFC 8414). `documents`: whether client ids can be URLs of documents. */
export const serverMetadata = (baseUrl: string, documents: boolean) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}${oauthPaths.authorize}`,
  token_endpoint: `${baseUrl}${oauthPaths.token}`,
  registration_endpoint: `${baseUrl}${oauthPaths.register}`,
  revocation_endpoint: `${baseUrl}${oauthPaths.revoke}`,
  scopes_supported: scopes,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint_auth_methods_supported: ["none"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  ...(documents && { client_id_metadata_document_supported: true }),
  service_documentation: `${baseUrl}${documentationPath}`
})
