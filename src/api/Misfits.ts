import { Either, Option, ParseResult, Schema, SchemaAST } from "effect"
import type { Issue } from "../model/Errors.ts"

/** Messages in JSON's terms, by the kind of schema node. */
const expectations: { readonly [Tag in SchemaAST.AST["_tag"]]?: string } = {
  TypeLiteral: "expected an object",
  ObjectKeyword: "expected an object",
  TupleType: "expected a list (an array)",
  StringKeyword: "expected text",
  TemplateLiteral: "expected text",
  NumberKeyword: "expected a number",
  BooleanKeyword: "expected true or false"
}

const unfit = "is not valid"

/** The message for a value that does not match a node, without types of members or names of schemas. */
const expectationOf = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return expectationOf(ast.from)
    case "Suspend":
      return expectationOf(ast.f())
    case "Literal":
      return `must be ${ast.literal}`
    case "Union": {
      const names = ast.types.filter(SchemaAST.isLiteral).map(({ literal }) => literal)
      return names.length === ast.types.length ? `must be one of ${names.join(", ")}` : unfit
    }
    default:
      return expectations[ast._tag] ?? unfit
  }
}

/** Replaces the library's messages in a parse failure, which describe schemas, by messages in JSON's terms. */
const inWords = (issue: ParseResult.ParseIssue): ParseResult.ParseIssue => {
  switch (issue._tag) {
    case "Type":
      return new ParseResult.Type(issue.ast, issue.actual, issue.message ?? expectationOf(issue.ast))
    case "Pointer":
      return new ParseResult.Pointer(issue.path, issue.actual, inWords(issue.issue))
    case "Composite": {
      // A union gets one message, not one for each alternative.
      if (issue.ast._tag === "Union")
        return new ParseResult.Type(issue.ast, issue.actual, expectationOf(SchemaAST.encodedAST(issue.ast)))
      const issues = Array.isArray(issue.issues) ? issue.issues : [issue.issues as ParseResult.ParseIssue]
      const [first, ...others] = issues.map(inWords)
      return first === undefined ? issue : new ParseResult.Composite(issue.ast, issue.actual, [first, ...others])
    }
    case "Refinement": {
      const isUnnamed = issue.kind === "Predicate" && issue.issue._tag === "Type" && issue.issue.message === undefined
      return new ParseResult.Refinement(
        issue.ast,
        issue.actual,
        issue.kind,
        isUnnamed ? new ParseResult.Type(issue.ast, issue.actual, describedRule(issue.ast)) : inWords(issue.issue)
      )
    }
    case "Transformation":
      return new ParseResult.Transformation(issue.ast, issue.actual, issue.kind, inWords(issue.issue))
    default:
      return issue
  }
}

const describedRule = (ast: SchemaAST.AST) =>
  Option.match(SchemaAST.getDescriptionAnnotation(ast), { onNone: () => unfit, onSome: (rule) => `must be ${rule}` })

/** Makes a function that returns the issues of a value under a schema, each with its path and the rule that it breaks. */
export const misfitsIn = (schema: Schema.Schema.AnyNoContext): ((value: unknown) => ReadonlyArray<Issue>) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (value) =>
    Either.match(decode(value), {
      onRight: () => [],
      onLeft: ({ issue }) =>
        ParseResult.ArrayFormatter.formatIssueSync(inWords(issue)).map(({ message, path }) => ({
          path: path.map(String).join("."),
          message
        }))
    })
}
