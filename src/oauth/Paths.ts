/** Paths of the authorization server. */
export const oauthPaths = {
  resource: "/.well-known/oauth-protected-resource/mcp",
  resourceAtRoot: "/.well-known/oauth-protected-resource",
  server: "/.well-known/oauth-authorization-server",
  register: "/oauth/register",
  authorize: "/oauth/authorize",
  decision: "/oauth/authorize/decision",
  token: "/oauth/token",
  revoke: "/oauth/revoke"
} as const
