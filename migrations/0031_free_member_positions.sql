-- A product that leaves a collection changes the positions of no other. An earlier version would add products in the wrong place then.
COMMENT ON COLUMN collection_member.position IS 'The order of the products. Positions between them may be free.';
