"""Billing: tenants' usage priced exactly; months are closed by offsets, and never re-opened."""
