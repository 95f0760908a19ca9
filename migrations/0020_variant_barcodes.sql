-- Lists of variants with a barcode, and of their products. The barcode is hashed because an import may have written one that is
-- longer than an index entry.
CREATE INDEX entity_barcode ON entity (account_id, md5(attributes #>> '{barcode,value}'))
  WHERE kind = 'variant' AND attributes #>> '{barcode,value}' IS NOT NULL;
